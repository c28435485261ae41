// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "gemm/suite.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu::sm90 {
namespace {

Problem problem_of(int groups, std::int64_t m, std::int64_t n, std::int64_t k, Op op = Op::kGemm) {
  Problem problem{.name = "p", .op = op};
  problem.groups.assign(static_cast<std::size_t>(groups), {.m = m, .n = n, .k = k});
  return problem;
}

Variant choice(const Problem& problem) { return choose(problem, token_count(problem), {}); }

TEST(Choose, FewTokensTakeNarrowTiles) {
  for (const std::int64_t m : {1, 4, 8}) {
    EXPECT_EQ(choice(problem_of(8, m, 4096, 7168)).knobs.tokens, 8) << m;
  }
  EXPECT_EQ(choice(problem_of(8, 16, 4096, 7168)).knobs.tokens, 16);
  EXPECT_EQ(choice(problem_of(32, 30, 4096, 7168)).knobs.tokens, 32);
}

TEST(Choose, ManyTokensTakeWideTilesOf256Rows) {
  const GemmKnobs knobs = choice(problem_of(8, 128, 4096, 7168)).knobs;
  EXPECT_EQ(knobs.tokens, 128);
  EXPECT_EQ(knobs.weight_rows, 256);
}

TEST(Choose, TooFewHighTilesAreHalved) {
  EXPECT_EQ(choice(problem_of(1, 512, 4096, 1536)).knobs.weight_rows, 128);
}

// 6144 rows of gate and up by 512 tokens are 128 tiles of 192, for 132 SMs; 96 of 256, or 192 of
// 128, would leave a quarter of them idle. 8192 rows are 128 tiles of 256.
TEST(Choose, TilesOf192RowsWhereTheyFillTheCard) {
  const GemmKnobs knobs = choice(problem_of(1, 512, 3072, 7168, Op::kDual)).knobs;
  EXPECT_EQ(knobs.weight_rows, 192);
  EXPECT_EQ(knobs.consumer_warpgroups, 3);
  EXPECT_EQ(knobs.schedule, Schedule::kTiles);
  EXPECT_EQ(choice(problem_of(1, 512, 4096, 7168, Op::kDual)).knobs.weight_rows, 256);
}

// What the engine has chosen since the times were fitted: a change of the model that changes one of
// these is a change of speed, and must be measured.
TEST(Choose, KeepsItsChoices) {
  const std::map<std::string, std::map<std::string, std::string>> expected = {
      {"seeds",
       {
           {"g8_n4096_k7168",
            "rows=256,stages=6,steps=2,store=vectors,schedule=balanced,prologue=inside"},
           {"g8_n7168_k2048", "tokens=112,rows=256,stages=6,steps=2,store=vectors,prologue=inside"},
           {"g2_n3072_k4096", "tokens=112,stages=7,store=vectors,prologue=inside"},
           {"g2_n4096_k1536", "stages=7,store=vectors,prologue=inside"},
       }},
      {"dual",
       {
           {"m256_n4096_k7168", "stages=7,store=vectors,prologue=inside"},
           {"m512_n4096_k7168", "rows=256,stages=6,steps=2,store=vectors,prologue=inside"},
           {"m256_n3072_k4096", "stages=7,store=vectors,prologue=inside"},
           {"m512_n3072_k7168",
            "rows=192,warpgroups=3,stages=6,steps=2,store=vectors,prologue=inside"},
       }},
      {"decode",
       {
           {"g8_m1_n4096_k7168", "tokens=8,rows=256,stages=8,steps=2,prologue=inside"},
           {"g8_m16_n4096_k7168", "tokens=16,rows=256,stages=8,steps=2"},
           {"g32_m4_n4096_k7168", "tokens=8,rows=256,stages=8,steps=2,prologue=inside"},
           {"g8_m16_n7168_k2048", "tokens=16,rows=256,stages=8,steps=2"},
       }},
      {"experts",
       {
           {"g1_m1000_n2048_k7168", "stages=7,store=vectors,prologue=inside"},
           {"g2_m1024_n4096_k4096", "rows=256,stages=6,steps=2,store=vectors,prologue=inside"},
           {"g4_skewed_n5120_k2560",
            "tokens=104,rows=256,stages=6,steps=2,store=vectors,prologue=inside"},
           {"g8_m24_n6144_k3072", "tokens=32,rows=256,stages=8,schedule=balanced,prologue=inside"},
           {"g16_m64_n2880_k2880",
            "tokens=64,rows=192,warpgroups=3,stages=8,steps=2,store=vectors,prologue=inside"},
           {"g64_m16_n1536_k2048", "tokens=16,rows=256,stages=8,steps=2"},
           {"g128_skewed_n1536_k1024", "tokens=32,rows=256,stages=8,prologue=inside"},
           {"g256_m4_n1024_k1024", "tokens=8,rows=256,stages=8,steps=2,prologue=inside"},
       }},
      // What the model of time says: nobody has timed these yet.
      {"models",
       {
           {"qwen3_30b_gate_up", "tokens=32,rows=256,stages=8,prologue=inside"},
           {"qwen3_235b_gate_up",
            "tokens=96,rows=256,stages=6,steps=2,store=vectors,schedule=balanced,prologue=inside"},
           {"deepseek_v3_down",
            "tokens=96,rows=256,stages=6,steps=2,store=vectors,schedule=balanced,prologue=inside"},
           {"glm_4_5_air_down", "tokens=48,rows=256,stages=8,prologue=inside"},
           {"gpt_oss_20b_gate_up",
            "tokens=96,rows=256,stages=6,steps=2,store=vectors,schedule=balanced,prologue=inside"},
           {"minimax_m2_gate_up", "tokens=32,rows=256,stages=8,prologue=inside"},
           {"nemotron_3_30b_down",
            "tokens=64,rows=256,stages=8,steps=2,store=vectors,schedule=balanced,prologue=inside"},
           {"mistral_4_down", "tokens=96,rows=256,stages=6,steps=2,store=vectors,prologue=inside"},
       }}};
  for (const auto& [suite, choices] : expected) {
    for (const Problem& problem : load_suite(suite).problems) {
      EXPECT_EQ(name(choice(problem)), "gpu_sm90:" + choices.at(problem.name)) << problem.name;
    }
  }
}

// Whatever is asked, the choice is one of those it says it takes from, and can run it.
TEST(Choose, CanRunWhatItIsChosenFor) {
  const std::vector<Variant> all = choices();
  std::srand(1);
  for (int repeat = 0; repeat < 200; ++repeat) {
    Problem problem{.name = "p", .op = repeat % 2 == 0 ? Op::kGemm : Op::kDual};
    problem.output = repeat % 3 == 0 ? Output::kFp32 : Output::kBf16;
    for (int group = std::rand() % 40; group >= 0; --group) {
      problem.groups.push_back({.m = std::rand() % (1 << std::rand() % 12),
                                .n = 1 + std::rand() % 8192,
                                .k = 16 * (1 + std::rand() % 600)});
    }
    const Variant variant = choice(problem);
    EXPECT_TRUE(supports(variant, problem, {}).ok) << name(variant);
    EXPECT_NE(std::find(all.begin(), all.end(), variant), all.end()) << name(variant);
  }
}

}  // namespace
}  // namespace thresher::gpu::sm90
