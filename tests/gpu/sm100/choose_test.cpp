// SPDX-License-Identifier: Apache-2.0
// What is chosen on a Blackwell: its own kernel for NVFP4 activations, that for warps for others.
#include "gpu/sm100/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gemm/suite.hpp"
#include "gpu/sm100/model.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu::sm100 {
namespace {

constexpr SmLimits kChosenOn{.compute_capability = 100, .sm_count = 148};

Problem groups_of(std::int64_t m, Activations activations = Activations::kNvfp4) {
  return {.name = "p",
          .activations = activations,
          .groups = std::vector<Group>(8, {.m = m, .n = 4096, .k = 7168})};
}

TEST(BlackwellChoose, WhatItChoosesRuns) {
  const std::vector<Variant> all = choices();
  for (const char* suite : {"seeds", "dual", "decode", "experts"}) {
    for (const Problem& problem : load_suite(suite).problems) {
      if (problem.activations != Activations::kNvfp4) continue;
      const Variant chosen = choose(problem, token_count(problem), kChosenOn);
      EXPECT_EQ(supports(chosen, problem, kChosenOn).why_not, "") << problem.name;
      EXPECT_NE(std::find(all.begin(), all.end(), chosen), all.end()) << problem.name;
    }
  }
}

TEST(BlackwellChoose, IsTheEnginesForNvfp4) {
  const Backend row = variants_row(Mma::kWarpgroup);
  const Machine machine{.limits = kChosenOn};
  EXPECT_TRUE(row.choose(groups_of(64), 512, machine).starts_with("gpu_sm100"));
  EXPECT_TRUE(row.choose(groups_of(64, Activations::kBf16), 512, machine).starts_with("gpu_sm80"));
  EXPECT_EQ(variants_row(Mma::kBlockScaled).named_variants().front(), "gpu_sm100");
  EXPECT_TRUE(variants_row(Mma::kBlockScaled).baseline().starts_with("gpu_sm100"));
}

TEST(BlackwellChoose, TilesAreAsWideAsTheGroups) {
  const auto tokens = [](std::int64_t m) {
    const Problem problem = groups_of(m);
    return choose(problem, token_count(problem), kChosenOn).knobs.tokens;
  };
  EXPECT_EQ(tokens(8), 16);
  EXPECT_LE(tokens(64), 64);
  EXPECT_EQ(tokens(1024), 128);
}

TEST(BlackwellModel, FollowsTheWork) {
  const Machine machine{.rates = {.read_gb_per_s = 5900, .nvfp4_gop_per_s = 5797000},
                        .limits = kChosenOn};
  const auto us = [&](const Problem& problem, const char* variant) {
    return modelled_run(problem, variant_from_name(variant), machine, tile_times()).us;
  };
  EXPECT_LT(us(groups_of(256), "gpu_sm100"), us(groups_of(1024), "gpu_sm100"));
  EXPECT_LT(us(groups_of(1024), "gpu_sm100"), us(groups_of(1024), "gpu_sm100:tokens=16"));
  // Pairs of blocks multiply as fast as blocks by themselves, and fetch less.
  EXPECT_LT(us(groups_of(1024), "gpu_sm100:rows=256"), 1.2 * us(groups_of(1024), "gpu_sm100"));
  EXPECT_GT(us(groups_of(1024), "gpu_sm100:rows=256"), 0.5 * us(groups_of(1024), "gpu_sm100"));
  // Blocks that share weights read fewer bytes, and have half of the tokens each.
  EXPECT_LT(us(groups_of(256), "gpu_sm100:tokens=256,stages=4,loads=multicast"),
            us(groups_of(256), "gpu_sm100"));
  // With few tokens what is left is reading the weights.
  const double weights_us = 8.0 * 4096 * 7168 * 0.5625 / 5900 / 1e3;
  EXPECT_GT(us(groups_of(1), "gpu_sm100:tokens=16"), weights_us);
}

}  // namespace
}  // namespace thresher::gpu::sm100
