// SPDX-License-Identifier: Apache-2.0
// Blackwell's named variants in the emulator, adding in order and as published models say: exact
// sums bit for bit, others within the bound. Never run on a Blackwell.
#include <gtest/gtest.h>

#include "gemm/suite.hpp"
#include "gpu/sm100/choose.hpp"
#include "support/scene.hpp"

namespace thresher::emulated::testing {
namespace {

using thresher::testing::make_problem;
using thresher::testing::Scene;

constexpr const char* kDevices[] = {"emulator:sm100", "emulator:sm100_in_order"};

std::vector<gpu::Variant> all_named() {
  std::vector<gpu::Variant> variants = gpu::sm100::named_variants();
  variants.push_back(gpu::sm100::baseline());
  return variants;
}

// Those with tiles of so many rows.
void agree_with_the_oracle(int weight_rows) {
  for (const gpu::Variant& variant : all_named()) {
    if (variant.knobs.weight_rows != weight_rows) continue;
    for (const Op op : {Op::kGemm, Op::kDual}) {
      const Engine engine({.device = kDevices[0], .emulator_seed = op == Op::kGemm ? 1u : 2u});
      const Problem problem =
          make_problem({5, 0, 70, 17}, 130, 144, op, Activations::kNvfp4, Output::kFp16);
      const std::string why_not = engine.supports(problem, name(variant)).why_not;
      if (op == Op::kDual && variant.knobs.tokens == 256) {
        EXPECT_NE(why_not.find("columns of tensor memory"), std::string::npos) << why_not;
        continue;
      }
      ASSERT_EQ(why_not, "") << to_string(op);
      Scene scene(engine, problem);
      scene.run(engine, name(variant));
      EXPECT_EQ(scene.why_wrong(), "") << name(variant) << " " << to_string(op);
    }
  }
}

TEST(BlackwellVariants, AgreeWithTheOracle) { agree_with_the_oracle(128); }
TEST(BlackwellVariants, PairsAgreeWithTheOracle) { agree_with_the_oracle(256); }

// What the engine chooses from, as deep and as wide as it would be on a B200.
TEST(BlackwellVariants, ChoicesAgreeWithTheOracle) {
  int run_count = 0;
  for (const gpu::Variant& variant : gpu::sm100::choices()) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      const Engine engine({.device = kDevices[0], .emulator_seed = 7});
      const Problem problem =
          make_problem({3, 0, 130}, 130, 1808, op, Activations::kNvfp4, Output::kFp16);
      const std::string why_not = engine.supports(problem, name(variant)).why_not;
      if (op == Op::kDual && variant.knobs.stages == 6) {
        EXPECT_NE(why_not, "") << name(variant);  // too little shared or tensor memory
        continue;
      }
      ASSERT_EQ(why_not, "") << name(variant) << " " << to_string(op);
      Scene scene(engine, problem);
      scene.run(engine, name(variant));
      EXPECT_EQ(scene.why_wrong(), "") << name(variant) << " " << to_string(op);
      ++run_count;
    }
  }
  EXPECT_EQ(run_count, 15);
}

// Several k tiles and stages that go round, all codes and scales, negative ones included.
TEST(BlackwellVariants, StayWithinTheBound) {
  for (const char* device : kDevices) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
        const Engine engine({.device = device, .emulator_seed = 3});
        const Problem problem = make_problem({9, 24}, 72, 1552, op, Activations::kNvfp4, output);
        for (const InputFamily family : {InputFamily::kNatural, InputFamily::kFull}) {
          Scene scene(engine, problem, family);
          scene.run(engine, "gpu_sm100:tokens=16");
          EXPECT_EQ(scene.why_wrong(), "") << device << " " << to_string(op);
        }
      }
    }
  }
}

// In order the emulated MMA rounds where the CPU's tiles round: the same bits on any input.
TEST(BlackwellVariants, InOrderTheyGiveTheCpusBits) {
  const Problem problem =
      make_problem({5, 20}, 70, 528, Op::kDual, Activations::kNvfp4, Output::kFp32);
  const Engine blackwell({.device = "emulator:sm100_in_order"});
  Scene scene(blackwell, problem, InputFamily::kNatural);
  scene.run(blackwell, "gpu_sm100");
  const Engine cpu({.thread_count = 1});
  Scene same(cpu, problem, InputFamily::kNatural);
  same.run(cpu, "cpu_portable");
  EXPECT_EQ(scene.output_bytes(), same.output_bytes());
  Scene pairs(blackwell, problem, InputFamily::kNatural);
  pairs.run(blackwell, "gpu_sm100:rows=256");
  EXPECT_EQ(pairs.output_bytes(), same.output_bytes());
  Scene shared(blackwell, problem, InputFamily::kNatural);
  shared.run(blackwell, "gpu_sm100:loads=multicast");
  EXPECT_EQ(shared.output_bytes(), same.output_bytes());
}

// Pairs of blocks, and two that share weights: an odd number of row tiles, so that the last pair's
// second block has none; tiles of which one block has all tokens; k tiles that go round the stages;
// groups of fewer tokens than a block, or none; sizes that only the device knows. There are two
// pairs, which share tiles where the schedule is balanced.
TEST(BlackwellVariants, PairsOfBlocks) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const std::int64_t n : {8, 300}) {
      const Problem problem = make_problem({1, 0, 33, 16}, n, n == 8 ? 80 : 1296, op);
      for (const char* variant :
           {"gpu_sm100:rows=256", "gpu_sm100:tokens=32,rows=256,stages=5,store=vectors",
            "gpu_sm100:tokens=64,rows=256,store=staged,schedule=balanced",
            "gpu_sm100:rows=256,loads=boxes", "gpu_sm100:loads=multicast",
            "gpu_sm100:tokens=64,store=staged,schedule=balanced,loads=multicast"}) {
        const Engine engine({.device = kDevices[0], .emulator_seed = 2});
        Scene scene(engine, problem, InputFamily::kExact, 1, {.together = true});
        scene.run(engine, variant);
        EXPECT_EQ(scene.why_wrong(), "") << variant << " " << to_string(op) << " " << n;
      }
    }
  }
}

// Parts of tiles are added in their order, whoever comes last: every order of events gives the same
// bits.
TEST(BlackwellVariants, PartsAreAddedInTheirOrder) {
  const Problem problem =
      make_problem({5, 20}, 264, 1040, Op::kDual, Activations::kNvfp4, Output::kFp32);
  for (const char* variant : {"gpu_sm100:split_k=2", "gpu_sm100:schedule=balanced",
                              "gpu_sm100:tokens=64,rows=256,store=staged,schedule=balanced"}) {
    std::vector<std::uint8_t> first;
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const Engine engine({.device = kDevices[0], .emulator_seed = seed});
      Scene scene(engine, problem, InputFamily::kNatural);
      scene.run(engine, variant);
      EXPECT_EQ(scene.why_wrong(), "") << variant;
      if (first.empty()) first = scene.output_bytes();
      EXPECT_EQ(scene.output_bytes(), first) << variant << ", seed " << seed;
    }
  }
}

// Two columns at a time, or rows through shared memory, in both types and where rows of C are
// aligned and where they are not.
TEST(BlackwellVariants, StoreByTwosAndByRows) {
  const Engine engine({.device = "emulator:sm100"});
  for (const Output output : {Output::kFp16, Output::kFp32}) {
    for (const std::int64_t n : {63, 130}) {
      for (const std::int64_t padding : {0, 2, 3, 6}) {
        for (const char* variant : {"gpu_sm100:store=vectors", "gpu_sm100:stages=3,store=staged"}) {
          Scene scene(engine, make_problem({37}, n, 64, Op::kGemm, Activations::kNvfp4, output),
                      InputFamily::kExact, 1, {.stride_padding = padding});
          scene.run(engine, variant);
          EXPECT_EQ(scene.why_wrong(), "")
              << variant << ", " << n << " columns, " << padding << " more per row";
        }
      }
    }
  }
}

// Many groups, whose places blocks look up; rows together; sizes that only the device knows.
TEST(BlackwellVariants, ManyGroups) {
  std::vector<std::int64_t> tokens;
  for (int i = 0; i < 80; ++i) tokens.push_back(i * 7 % 5);
  const Engine engine({.device = "emulator:sm100"});
  Scene scene(engine, make_problem(tokens, 16, 32), InputFamily::kExact, 1, {.together = true});
  scene.run(engine, "gpu_sm100:tokens=16");
  EXPECT_EQ(scene.why_wrong(), "");
}

TEST(BlackwellVariants, TheDeviceChoosesThem) {
  const Engine engine({.device = "emulator:sm100"});
  EXPECT_EQ(engine.description(), "emulator of sm_100a, 4 SMs");
  for (const char* suite : {"seeds", "dual", "decode", "experts", "edges"}) {
    for (const Problem& problem : load_suite(suite).problems) {
      if (problem.activations != Activations::kNvfp4) continue;
      const SmLimits b200{.compute_capability = 100, .sm_count = 148};
      EXPECT_EQ(engine.plan(problem).variant(),
                name(gpu::sm100::choose(problem, token_count(problem), b200)));
    }
  }
  const Problem halves = make_problem({4}, 64, 64, Op::kGemm, Activations::kBf16, Output::kBf16);
  EXPECT_TRUE(engine.plan(halves).variant().starts_with("gpu_sm80"));
  Scene scene(engine, halves);
  scene.run(engine);
  EXPECT_EQ(scene.why_wrong(), "");
}

}  // namespace
}  // namespace thresher::emulated::testing
