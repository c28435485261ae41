// SPDX-License-Identifier: Apache-2.0
// Blackwell's named variants in the emulator, adding in order and as published models say: exact
// sums bit for bit, others within the bound. Never run on a Blackwell.
#include <gtest/gtest.h>

#include "gpu/sm100/choose.hpp"
#include "support/scene.hpp"

namespace thresher::emulated::testing {
namespace {

using thresher::testing::make_problem;
using thresher::testing::Scene;

constexpr const char* kDevices[] = {"emulator:sm100", "emulator:sm100_in_order"};

std::vector<gpu::sm100::Variant> all_named() {
  std::vector<gpu::sm100::Variant> variants = gpu::sm100::named_variants();
  variants.push_back(gpu::sm100::baseline());
  return variants;
}

TEST(BlackwellVariants, AgreeWithTheOracle) {
  for (const gpu::sm100::Variant& variant : all_named()) {
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
}

// Two columns at a time, in both types and where rows of C are aligned and where they are not.
TEST(BlackwellVariants, StoreByTwos) {
  const Engine engine({.device = "emulator:sm100"});
  for (const Output output : {Output::kFp16, Output::kFp32}) {
    for (const std::int64_t n : {63, 130}) {
      for (const std::int64_t padding : {0, 2, 3}) {
        Scene scene(engine, make_problem({9}, n, 64, Op::kGemm, Activations::kNvfp4, output),
                    InputFamily::kExact, 1, {.stride_padding = padding});
        scene.run(engine, "gpu_sm100:store=vectors");
        EXPECT_EQ(scene.why_wrong(), "") << n << " columns, " << padding << " more per row";
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
  EXPECT_EQ(engine.description(), "emulator of sm_100a, 3 SMs");
  EXPECT_EQ(engine.plan(make_problem({16, 17}, 64, 64)).variant(), "gpu_sm100");
  EXPECT_EQ(engine.plan(make_problem({16, 16}, 64, 64)).variant(), "gpu_sm100:tokens=16");
  const Problem halves = make_problem({4}, 64, 64, Op::kGemm, Activations::kBf16, Output::kBf16);
  EXPECT_TRUE(engine.plan(halves).variant().starts_with("gpu_sm80"));
  Scene scene(engine, halves);
  scene.run(engine);
  EXPECT_EQ(scene.why_wrong(), "");
}

}  // namespace
}  // namespace thresher::emulated::testing
