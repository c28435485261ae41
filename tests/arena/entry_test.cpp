// SPDX-License-Identifier: Apache-2.0
// What an entry says and refuses; entry_check.py runs them.
#include "arena/entry.hpp"

#include <gtest/gtest.h>

#include "gpu/sm100/choose.hpp"
#include "thresher/error.hpp"

namespace thresher::arena {
namespace {

TEST(ArenaEntry, LeavesNoMarkAndIncludesNothing) {
  for (const ArenaProblem& problem : arena_problems()) {
    const std::string text = entry_file(problem, variant_for(problem));
    const std::string kernels = entry_kernels(problem, variant_for(problem));
    EXPECT_NE(text.find(kernels), std::string::npos);
    for (const char* word : {"MATRICES", "SOURCE", "VARIANT", "CUSTOM_KERNEL"}) {
      EXPECT_EQ(text.find("@" + std::string(word) + "@"), std::string::npos) << word;
    }
    EXPECT_EQ(kernels.find("\n#include"), std::string::npos);
    // The arena refuses what has this word, and what is larger than a megabyte.
    EXPECT_EQ(text.find("stream"), std::string::npos);
    EXPECT_EQ(text.find("Stream"), std::string::npos);
    EXPECT_LT(text.size(), 1000000u);
    EXPECT_NE(text.find("never run on a Blackwell"), std::string::npos);
  }
}

// The file is made anew by the command that it names.
TEST(ArenaEntry, NamesTheVariantThatItHas) {
  const ArenaProblem problem = arena_problem("nvfp4_group_gemm");
  const std::string text = entry_file(problem, "gpu_sm100:tokens=64");
  EXPECT_NE(text.find("thresher export arena nvfp4_group_gemm --variant gpu_sm100:tokens=64"),
            std::string::npos);
  EXPECT_NE(text.find("TOKENS_PER_TILE = 64\n"), std::string::npos);
}

TEST(ArenaEntry, RefusesWhatNoEntryCanBe) {
  const auto refusal = [](std::string_view problem, std::string_view variant) {
    try {
      entry_file(arena_problem(problem), variant);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("nvfp4_gruop_gemm", "gpu_sm100"),
            "the arena's problem 'nvfp4_gruop_gemm' is not one we have an entry for; there are: "
            "nvfp4_group_gemm, nvfp4_dual_gemm; did you mean 'nvfp4_group_gemm'?");
  EXPECT_EQ(refusal("nvfp4_group_gemm", "gpu_sm90"),
            "variant 'gpu_sm90' is not for a B200, which the arena runs on: take one of gpu_sm100");
  EXPECT_EQ(refusal("nvfp4_group_gemm", "gpu_sm100:launches=per_group"),
            "variant 'gpu_sm100:launches=per_group': an entry launches one GEMM on the arena's "
            "stream: take launches = grouped and no graph");
  EXPECT_EQ(refusal("nvfp4_dual_gemm", "gpu_sm100:dual=two_pass"),
            "variant 'gpu_sm100:dual=two_pass': an entry multiplies gate and up in one launch: "
            "take dual = fused");
  EXPECT_NE(refusal("nvfp4_dual_gemm", "gpu_sm100:tokens=256").find("columns of tensor memory"),
            std::string::npos);
  EXPECT_EQ(refusal("nvfp4_group_gemm", "gpu_sm100:split_k=2"),
            "variant 'gpu_sm100:split_k=2': an entry has no memory for parts of tiles: take "
            "schedule = tiles and split_k = 1");
  EXPECT_EQ(refusal("nvfp4_group_gemm", "gpu_sm100:rows=256"),
            "variant 'gpu_sm100:rows=256': an entry launches no clusters: take rows = 128 and "
            "loads = copies");
  EXPECT_EQ(refusal("nvfp4_group_gemm", "gpu_sm100:loads=boxes"),
            "variant 'gpu_sm100:loads=boxes': an entry makes no tensor maps: take loads = copies");
}

// Of what has a name, an entry takes what needs its operands and one launch of single blocks alone.
TEST(ArenaEntry, TakesNothingThatItDoesNotBring) {
  for (const ArenaProblem& problem : arena_problems()) {
    for (const gpu::Variant& variant : gpu::sm100::named_variants()) {
      const std::string name = gpu::name(variant);
      const Problem& any = problem.benchmarks.front();
      const SmLimits limits{.compute_capability = 100, .sm_count = 148};
      const gpu::GemmPlan plan = make_plan(variant.knobs, {any, token_count(any), limits});
      const bool brought = plan.workspace.bytes == 0 && plan.launches.size() == 1 &&
                           plan.launches.front().cluster_blocks == 1 && !weights_by_map(plan);
      if (brought) continue;
      EXPECT_THROW(entry_file(problem, name), Error) << name;
    }
  }
}

}  // namespace
}  // namespace thresher::arena
