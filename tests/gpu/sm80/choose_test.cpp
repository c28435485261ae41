// SPDX-License-Identifier: Apache-2.0
// What is chosen on GPUs that are no Hopper: always something that runs, by the shape of the
// problem and within the device's shared memory.
#include "gpu/sm80/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gemm/suite.hpp"
#include "gpu/sm80/model.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu::sm80 {
namespace {

constexpr SmLimits kA100{.compute_capability = 80,
                         .sm_count = 108,
                         .shared_bytes_per_block = 163 << 10,
                         .shared_bytes_per_sm = 164 << 10};
constexpr SmLimits kRtx4090{.compute_capability = 89,
                            .sm_count = 128,
                            .shared_bytes_per_block = 99 << 10,
                            .shared_bytes_per_sm = 100 << 10};

Problem groups_of(std::int64_t m, Activations activations = Activations::kNvfp4) {
  return {.name = "p",
          .activations = activations,
          .groups = std::vector<Group>(8, {.m = m, .n = 4096, .k = 7168})};
}

TEST(WarpChoose, WhatItChoosesRuns) {
  const std::vector<Variant> all = choices();
  for (const SmLimits& limits : {kA100, kRtx4090}) {
    for (const char* suite : {"seeds", "dual", "decode", "experts", "edges"}) {
      for (const Problem& problem : load_suite(suite).problems) {
        const Variant chosen = choose(problem, token_count(problem), limits);
        EXPECT_EQ(supports(chosen, problem, limits).why_not, "") << problem.name;
        EXPECT_NE(std::find(all.begin(), all.end(), chosen), all.end()) << problem.name;
      }
    }
  }
}

constexpr SmLimits kH200{.compute_capability = 80,
                         .sm_count = 132,
                         .shared_bytes_per_block = 227 << 10,
                         .shared_bytes_per_sm = 228 << 10};

TEST(WarpChoose, EveryChoiceFitsWhatItWasMeasuredOn) {
  for (const Variant& variant : choices()) {
    const bool reads = variant.knobs.prologue == Prologue::kNone;
    const Problem problem = groups_of(64, reads ? Activations::kBf16 : Activations::kNvfp4);
    EXPECT_EQ(supports(variant, problem, kH200).why_not, "") << name(variant);
  }
}

// The fastest of those that were timed there (results/h200/ampere.jsonl).
TEST(WarpChoose, WhatWasFastestOnAnH200) {
  const auto chosen = [](const char* suite, const std::string& problem_name,
                         Activations activations = Activations::kNvfp4) {
    std::vector<Problem> problems = load_suite(suite).problems;
    for (Problem& problem : problems) problem.activations = activations;
    const auto found = std::find_if(problems.begin(), problems.end(),
                                    [&](const Problem& one) { return one.name == problem_name; });
    return name(choose(*found, token_count(*found), kH200));
  };
  EXPECT_EQ(chosen("seeds", "g8_n7168_k2048"),
            "gpu_sm80:tokens=56,rows=256,schedule=balanced,blocks=2,prologue=kernel");
  EXPECT_EQ(chosen("dual", "m256_n4096_k7168"), "gpu_sm80:blocks=2,prologue=kernel");
  EXPECT_EQ(chosen("decode", "g8_m16_n4096_k7168"),
            "gpu_sm80:tokens=16,stages=6,schedule=balanced,blocks=4,prologue=kernel");
  EXPECT_EQ(chosen("decode", "g8_m16_n4096_k7168", Activations::kBf16),
            "gpu_sm80:tokens=16,stages=6,schedule=balanced,blocks=4,prologue=kernel");
}

// Copying 16-bit tokens from the caller's rows costs every k tile more than images do; where there
// are few of them, a kernel before costs more than that. NVFP4 tokens are decoded before anyway.
TEST(WarpChoose, APrologueWhereItPays) {
  const auto prologue = [](std::int64_t k, Activations activations) {
    const Problem problem{.name = "p",
                          .activations = activations,
                          .groups = std::vector<Group>(8, {.m = 16, .n = 4096, .k = k})};
    return choose(problem, token_count(problem), kH200).knobs.prologue;
  };
  EXPECT_EQ(prologue(7168, Activations::kBf16), Prologue::kKernel);
  EXPECT_EQ(prologue(256, Activations::kBf16), Prologue::kNone);
  EXPECT_EQ(prologue(256, Activations::kNvfp4), Prologue::kKernel);
}

TEST(WarpChoose, TilesAreAsWideAsTheGroups) {
  const auto tokens = [](std::int64_t m) {
    const Problem problem = groups_of(m);
    return choose(problem, token_count(problem), kA100).knobs.tokens;
  };
  EXPECT_EQ(tokens(1), 8);
  EXPECT_EQ(tokens(16), 16);
  EXPECT_GE(tokens(64), 32);
  EXPECT_GE(tokens(1024), 56);
}

TEST(WarpChoose, IsTheEnginesOnGpusWithoutTheirOwn) {
  const Backend row = variants_row(Mma::kWarpgroup);
  for (const int capability : {80, 86, 89, 103, 120}) {
    const Machine machine{.limits = {.compute_capability = capability}};
    EXPECT_TRUE(row.choose(groups_of(4), 32, machine).starts_with("gpu_sm80")) << capability;
  }
  EXPECT_TRUE(row.choose(groups_of(4), 32, {}).starts_with("gpu_sm90"));
  EXPECT_EQ(variants_row(Mma::kWarp).named_variants().front(), "gpu_sm80");
  EXPECT_TRUE(variants_row(Mma::kWarp).baseline().starts_with("gpu_sm80"));
}

// More of anything takes longer; a faster device less.
TEST(WarpModel, FollowsTheWork) {
  const Machine machine{
      .rates = {.read_gb_per_s = 1500, .nvfp4_gop_per_s = 300000, .fp16_gop_per_s = 300000},
      .limits = kA100};
  const auto us = [&](const Problem& problem, const char* variant, const Machine& on) {
    return modelled_run(problem, variant_from_name(variant), on, tile_times()).us;
  };
  constexpr const char* kWide = "gpu_sm80:tokens=96,rows=256,warpgroups=2,stages=3";
  EXPECT_LT(us(groups_of(256), kWide, machine), us(groups_of(512), kWide, machine));
  EXPECT_LT(us(groups_of(512), kWide, machine), us(groups_of(512), "gpu_sm80:tokens=8", machine));
  Machine faster = machine;
  faster.rates.fp16_gop_per_s *= 2;
  EXPECT_LT(us(groups_of(512), kWide, faster), us(groups_of(512), kWide, machine));
  // Its warps multiply 16-bit fragments, however fast the device multiplies NVFP4.
  Machine fp4 = machine;
  fp4.rates.nvfp4_gop_per_s *= 8;
  EXPECT_EQ(us(groups_of(512), kWide, fp4), us(groups_of(512), kWide, machine));
  // One token per group: what is left is reading the weights.
  const double weights_us = 8.0 * 4096 * 7168 * 0.5625 / 1500 / 1e3;
  EXPECT_GT(us(groups_of(1), "gpu_sm80:tokens=8,stages=6", machine), weights_us);
}

}  // namespace
}  // namespace thresher::gpu::sm80
