// SPDX-License-Identifier: Apache-2.0
// Every limit of the warps' kernel by its sentence, and that Hopper's kernels refuse what is theirs
// alone.
#include "gpu/sm80/gemm_support.hpp"

#include <gtest/gtest.h>

#include "gpu/gemm/variant.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu::sm80 {
namespace {

constexpr SmLimits kAmpere{.compute_capability = 80,
                           .sm_count = 108,
                           .shared_bytes_per_block = 163 << 10,
                           .shared_bytes_per_sm = 164 << 10};

std::string reason(const char* variant, Op op = Op::kGemm, std::int64_t k = 336,
                   const SmLimits& limits = kAmpere) {
  const Problem problem{.name = "p", .op = op, .groups = {{.m = 40, .n = 200, .k = k}}};
  return supports(variant_from_name(variant), problem, limits).why_not;
}

TEST(WarpSupport, SaysWhatItCannotDo) {
  struct Case {
    const char* variant;
    const char* why_not;
  };
  const Case cases[] = {
      {"gpu_sm80", ""},
      {"gpu_sm80:tokens=96,rows=256,warpgroups=2,stages=3", ""},
      {"gpu_sm80:tokens=128,rows=256,warpgroups=2,stages=3",
       "a thread would need 128 registers for sums and about 169 more, and has 255: take fewer "
       "tokens, rows or blocks, or more warpgroups"},
      {"gpu_sm80:kernel=plain", "there is no plain kernel for warps: take kernel = pipelined"},
      {"gpu_sm80:roles=split", "all warps load and multiply here: take roles = same"},
      {"gpu_sm80:store=staged", "bulk copies need Hopper: take store = direct or vectors"},
      {"gpu_sm80:steps=4", "warps decode two steps at a time: take steps = 2"},
      {"gpu_sm80:arrive=warp", "a block's barrier frees the stages here: take arrive = thread"},
      {"gpu_sm80:prologue=inside",
       "blocks do not wait for each other here: take prologue = kernel or none"},
      // Tokens that come as images leave registers to the sums.
      {"gpu_sm80:tokens=112,rows=256,warpgroups=2,stages=3,prologue=kernel", ""},
      {"gpu_sm80:tokens=112,rows=256,warpgroups=2,stages=3",
       "a thread would need 112 registers for sums and about 161 more, and has 255: take fewer "
       "tokens, rows or blocks, or more warpgroups"},
      {"gpu_sm80:tokens=136", "tokens = 136 is not between 8 and 128"},
      {"gpu_sm80:stages=17", "stages = 17 is not between 2 and 16"},
      {"gpu_sm80:schedule=balanced,split_k=2",
       "a balanced schedule cuts k by itself: split_k = 2 must be 1"},
      {"gpu_sm80:split_k=4",
       "split_k = 4 leaves a part without any of k = 336: take a smaller one"},
      {"gpu_sm80:stages=16", ""},
      {"gpu_sm80:tokens=128,stages=16,blocks=2",
       "2 blocks would need 220416 bytes of shared memory and an SM has 167936"},
      {"gpu_sm90", "gpu_sm90 is for Hopper GPUs (sm_90), and this one is sm_80: take gpu_sm80"},
  };
  for (const Case& one : cases) EXPECT_EQ(reason(one.variant), one.why_not) << one.variant;
}

TEST(WarpSupport, APassNeedsRowsForEveryWarpgroup) {
  EXPECT_EQ(reason("gpu_sm80:dual=two_pass", Op::kDual), "");
  EXPECT_EQ(reason("gpu_sm80:dual=two_pass,warpgroups=2", Op::kDual),
            "a pass over dual weights multiplies half of their rows: rows = 128 are too few for "
            "warpgroups = 2");
}

// The kernels for all GPUs run on Hopper too, and its own want their images.
TEST(WarpSupport, OnHopper) {
  EXPECT_EQ(reason("gpu_sm80", Op::kGemm, 336, {}), "");
  EXPECT_EQ(reason("gpu_sm90:prologue=none", Op::kGemm, 336, {}),
            "Hopper's kernels multiply images of the activations: take prologue = kernel or "
            "inside");
}

TEST(WarpVariants, NamesAreReadBack) {
  for (const char* name : {"gpu_sm80", "gpu_sm80:tokens=16,stages=6", "gpu_sm80:prologue=kernel"}) {
    EXPECT_EQ(gpu::name(variant_from_name(name)), name);
  }
  // Defaults are the head's.
  EXPECT_EQ(name(variant_from_name("gpu_sm80:tokens=64,roles=same")), "gpu_sm80");
  EXPECT_EQ(name(variant_from_name("gpu_sm90:tokens=128")), "gpu_sm90");
}

TEST(WarpPlan, APrologueIsALaunchBefore) {
  const Problem problem{.name = "p", .groups = {{.m = 40, .n = 200, .k = 336}}};
  const Variant variant = variant_from_name("gpu_sm80:prologue=kernel");
  const GemmPlan plan = plan_of(variant, problem, 40, kAmpere);
  ASSERT_TRUE(plan.images);
  EXPECT_EQ(plan.images->mma, Mma::kWarp);
  EXPECT_EQ(plan.launches.size(), 1u);
  EXPECT_GT(plan.workspace.bytes, 0u);
}

TEST(WarpPlan, IsOneLaunchWithoutImages) {
  const Problem problem{.name = "p", .groups = {{.m = 40, .n = 200, .k = 336}}};
  const GemmPlan plan = plan_of({.knobs = default_knobs()}, problem, 40, kAmpere);
  EXPECT_FALSE(plan.images);
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.launches[0].thread_count, 128);
  EXPECT_EQ(plan.launches[0].block_count, 2);  // two row tiles, one of tokens
  EXPECT_EQ(plan.workspace.bytes, 0u);
}

}  // namespace
}  // namespace thresher::gpu::sm80
