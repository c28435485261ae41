// SPDX-License-Identifier: Apache-2.0
// Every limit of Blackwell's kernel by its sentence, and what other kernels say there.
#include "gpu/sm100/gemm_support.hpp"

#include <gtest/gtest.h>

#include "gpu/gemm/variant.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu::sm100 {
namespace {

constexpr SmLimits kB200{.compute_capability = 100, .sm_count = 148};

std::string reason(const char* variant, Op op = Op::kGemm,
                   Activations activations = Activations::kNvfp4, const SmLimits& limits = kB200) {
  const Problem problem{
      .name = "p", .op = op, .activations = activations, .groups = {{.m = 40, .n = 200, .k = 336}}};
  return supports(variant_from_name(variant), problem, limits).why_not;
}

TEST(BlackwellSupport, SaysWhatItCannotDo) {
  struct Case {
    const char* variant;
    const char* why_not;
  };
  const Case cases[] = {
      {"gpu_sm100", ""},
      {"gpu_sm100:tokens=8", ""},
      // What the seeds took for a constraint of the hardware is none: N is any multiple of 8.
      {"gpu_sm100:tokens=64", ""},
      {"gpu_sm100:tokens=256,stages=4", ""},
      {"gpu_sm100:tokens=128,stages=6", ""},
      {"gpu_sm100:stages=2,blocks=2", ""},
      {"gpu_sm100:tokens=256,stages=2,blocks=2",
       "sums and scales would take 352 columns of tensor memory and a block has 256: take fewer "
       "tokens, stages or blocks"},
      {"gpu_sm100:stages=2,blocks=4", "blocks = 4 is not between 1 and 2"},
      {"gpu_sm100:tokens=256,stages=6",
       "sums and scales would take 544 columns of tensor memory and a block has 512: take fewer "
       "tokens, stages or blocks"},
      {"gpu_sm100:rows=256", ""},
      {"gpu_sm100:tokens=256,rows=256,stages=4", ""},
      {"gpu_sm100:tokens=24,rows=256",
       "a pair of blocks shares the tokens: tokens = 24 is not a multiple of 16"},
      {"gpu_sm100:rows=192",
       "the M side of a block-scaled FP4 MMA is 128, or 256 in a pair of blocks: take rows = 128 "
       "or "
       "256"},
      {"gpu_sm100:kernel=plain", "there is no plain kernel for Blackwell: take kernel = pipelined"},
      {"gpu_sm100:roles=same", "warps have roles here: take roles = split"},
      {"gpu_sm100:warpgroups=2",
       "four warps reach all lanes of tensor memory: take warpgroups = 1"},
      {"gpu_sm100:steps=2", "nothing is decoded here: take steps = 4"},
      {"gpu_sm100:store=staged", ""},
      {"gpu_sm100:tokens=64,rows=256,store=staged,schedule=balanced", ""},
      {"gpu_sm100:split_k=2", ""},
      {"gpu_sm100:split_k=2,schedule=balanced",
       "a balanced schedule cuts k by itself: split_k = 2 must be 1"},
      {"gpu_sm100:arrive=warp", "commits free the stages here: take arrive = thread"},
      {"gpu_sm100:prologue=kernel",
       "the kernel reads activations as they are: take prologue = none"},
      {"gpu_sm100:loads=multicast", ""},
      {"gpu_sm100:tokens=256,stages=4,loads=multicast", ""},
      {"gpu_sm100:loads=boxes", ""},
      {"gpu_sm100:rows=256,loads=boxes", ""},
      {"gpu_sm100:rows=256,loads=multicast",
       "two blocks with the same 128 rows of weights share them: with loads = multicast take rows "
       "= 128"},
      {"gpu_sm100:tokens=24,loads=multicast",
       "a pair of blocks shares the tokens: tokens = 24 is not a multiple of 16"},
      {"gpu_sm100:stages=17", "stages = 17 is not between 2 and 16"},
      {"gpu_sm100:tokens=16,stages=12",
       "a block would need 271616 bytes of shared memory and may have 232448"},
      {"gpu_sm90", "gpu_sm90 is for Hopper GPUs (sm_90), and this one is sm_100: take gpu_sm100"},
      {"gpu_sm80",
       "weights for NVFP4 activations are packed for this GPU's own MMA: take gpu_sm100"},
  };
  for (const Case& one : cases) EXPECT_EQ(reason(one.variant), one.why_not) << one.variant;
}

// Both blocks of a pair are in one cluster, and have parts of their own.
TEST(BlackwellSupport, PairsAreClusters) {
  const Problem problem{.name = "p", .groups = {{.m = 300, .n = 2000, .k = 4096}}};
  const auto plan = [&](const char* variant, int sms) {
    return plan_of(variant_from_name(variant), problem, 300,
                   {.compute_capability = 100, .sm_count = sms});
  };
  const GemmPlan pairs = plan("gpu_sm100:rows=256", 148);
  EXPECT_EQ(pairs.launches[0].cluster_blocks, 2);
  EXPECT_EQ(pairs.launches[0].block_count, 2 * 8 * 3);  // row tiles, token tiles
  EXPECT_EQ(plan("gpu_sm100:rows=256", 5).launches[0].block_count, 4);
  EXPECT_EQ(plan("gpu_sm100:rows=256", 1).launches[0].block_count, 2);
  const GemmPlan shared = plan("gpu_sm100:loads=multicast", 148);
  EXPECT_EQ(shared.launches[0].cluster_blocks, 2);
  EXPECT_EQ(shared.launches[0].block_count, 2 * 16 * 3);
  EXPECT_FALSE(weights_by_map(shared));
  EXPECT_TRUE(weights_by_map(plan("gpu_sm100:loads=boxes", 148)));
  const GemmPlan alone = plan("gpu_sm100", 5);
  EXPECT_EQ(alone.launches[0].cluster_blocks, 1);
  EXPECT_EQ(alone.launches[0].block_count, 5);
  // Two slots of 128 x 128 floats and a counter for each of 148 blocks.
  const GemmPlan balanced = plan("gpu_sm100:rows=256,schedule=balanced", 148);
  EXPECT_EQ(balanced.launches[0].block_count, 148);
  EXPECT_EQ(balanced.workspace.counters, 2u * 148 * 128 * 128 * 4);
  EXPECT_EQ(balanced.workspace.counter_bytes, 148u * 4);
}

TEST(BlackwellSupport, OtherActivationsAndOtherGpus) {
  EXPECT_EQ(reason("gpu_sm100", Op::kGemm, Activations::kBf16),
            "it multiplies NVFP4 by NVFP4 alone: take gpu_sm80 for bf16 activations");
  EXPECT_EQ(reason("gpu_sm80", Op::kGemm, Activations::kBf16), "");
  EXPECT_EQ(reason("gpu_sm80:loads=boxes", Op::kGemm, Activations::kBf16),
            "weights are multicast, or come as boxes, on Blackwell alone: take loads = copies");
  EXPECT_EQ(reason("gpu_sm90:loads=multicast", Op::kGemm, Activations::kNvfp4, {}),
            "weights are multicast, or come as boxes, on Blackwell alone: take loads = copies");
  EXPECT_EQ(reason("gpu_sm100", Op::kGemm, Activations::kNvfp4, {}),
            "gpu_sm100 is for Blackwell GPUs (sm_100), and this one is sm_90: take gpu_sm90");
  // sm_100a code does not run on other Blackwells.
  EXPECT_EQ(reason("gpu_sm100", Op::kGemm, Activations::kNvfp4, {.compute_capability = 103}),
            "gpu_sm100 is for Blackwell GPUs (sm_100), and this one is sm_103: take gpu_sm80");
}

}  // namespace
}  // namespace thresher::gpu::sm100
