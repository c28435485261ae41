// SPDX-License-Identifier: Apache-2.0
// What is the emulator's own: which problems it has kernels for, how it chooses among them, and
// that it has no speed. What it shares with other devices is tested in tests/engine.
#include "emulated/backend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend/device.hpp"
#include "gemm/suite.hpp"
#include "nvfp4/error_message.hpp"
#include "nvfp4/half.hpp"
#include "support/scene.hpp"

namespace thresher::emulated::testing {
namespace {

using nvfp4::error_message;
using thresher::testing::make_problem;
using thresher::testing::Scene;

Engine emulator(std::uint64_t seed = 1) {
  return Engine({.device = "emulator", .emulator_seed = seed});
}

std::string why_not(const Problem& problem, const char* variant) {
  const Support support = emulator().supports(problem, variant);
  EXPECT_EQ(support.ok, support.why_not.empty());
  return support.why_not;
}

TEST(EmulatedBackend, VariantsAreNamedTheDefaultFirst) {
  const std::vector<std::string> variants = emulator().variants();
  ASSERT_GT(variants.size(), 1u);
  EXPECT_EQ(variants.front(), "gpu_sm90");
}

TEST(EmulatedBackend, SaysForWhichVariantsItHasNoKernel) {
  const Problem problem = make_problem({4}, 64, 64, Op::kGemm, Activations::kNvfp4, Output::kFp32);
  EXPECT_EQ(why_not(problem, "gpu_sm90:tokens=40"),
            "the emulator has no kernel for this variant; use one that 'thresher variants' names");
  // Launches choose no kernel: any combination with them is there.
  EXPECT_EQ(why_not(problem, "gpu_sm90:launches=streams,graph=on"), "");
}

TEST(EmulatedBackend, SaysWhatTheDeviceWouldSay) {
  const Problem problem = make_problem({4}, 64, 64);
  EXPECT_EQ(why_not(problem, "gpu_sm90:tokens=256,stages=8"),
            "a block would need 300192 bytes of shared memory and may have 232448");
  EXPECT_THROW(emulator().supports(problem, "gpu_sm90:tokens=7"), Error);
  EXPECT_THROW(emulator().supports(problem, "cpu_portable"), Error);
  EXPECT_THROW(emulator().supports(make_problem({4}, 64, 40), "gpu_sm90"), Error);
}

TEST(EmulatedBackend, RefusesToPlanWhatItDoesNotSupport) {
  EXPECT_EQ(error_message([] { emulator().plan(make_problem({4}, 64, 64), "gpu_sm90:tokens=40"); }),
            "variant 'gpu_sm90:tokens=40' cannot run problem 'scene': the emulator has no kernel "
            "for this variant; use one that 'thresher variants' names");
}

// Tiles of few tokens for few, and kernels for every type and shape.
TEST(EmulatedBackend, ChoosesWhatItHasKernelsFor) {
  const Engine engine = emulator();
  EXPECT_EQ(engine.plan(make_problem({16, 16}, 64, 64)).variant(), "gpu_sm90:tokens=16,stages=6");
  EXPECT_EQ(engine.plan(make_problem({16, 17}, 64, 64)).variant(), "gpu_sm90");
  for (const char* suite : {"seeds", "dual", "decode", "experts", "edges"}) {
    for (const Problem& problem : load_suite(suite).problems) {
      EXPECT_EQ(error_message([&] { engine.plan(problem); }), "no error") << problem.name;
    }
  }
}

TEST(EmulatedBackend, CountsLaunchesAsTheyComeWhateverTheVariantSays) {
  const Plan plan =
      emulator().plan(make_problem({4, 4}, 64, 64), "gpu_sm90:launches=streams,graph=on");
  EXPECT_EQ(plan.kernel_launch_count(), 3);
  EXPECT_EQ(plan.graph_launch_count(), 0);
  EXPECT_TRUE(plan.kernels().empty());
}

// The kernels of other GPUs, with as much shared memory as the least of them has.
TEST(EmulatedBackend, HasTwoDevices) {
  const Engine engine({.device = "emulator:sm80"});
  EXPECT_EQ(engine.device(), "emulator:sm80");
  EXPECT_EQ(engine.description(), "emulator of sm_80, 3 SMs");
  EXPECT_EQ(Engine({.device = "emulator:sm90"}).description(), emulator().description());
  for (const std::string& variant : engine.variants()) {
    EXPECT_TRUE(variant.starts_with("gpu_sm80")) << variant;
  }
  EXPECT_EQ(engine.variants().front(), "gpu_sm80");
  EXPECT_EQ(engine.plan(make_problem({16, 17}, 64, 64)).variant(), "gpu_sm80");
  EXPECT_EQ(engine.plan(make_problem({16, 16}, 64, 64)).variant(), "gpu_sm80:tokens=16,stages=6");
  EXPECT_EQ(engine.supports(make_problem({4}, 64, 64), "gpu_sm90").why_not,
            "gpu_sm90 is for Hopper GPUs (sm_90), and this one is sm_80: take gpu_sm80");
  EXPECT_EQ(error_message([] { Engine({.device = "emulator:sm70"}); }),
            "there is no device 'emulator:sm70'; the emulator has emulator:sm90, emulator:sm80, "
            "emulator:sm100 and emulator:sm100_in_order");
}

// On a Blackwell weights have a form for NVFP4 activations and another for wider ones.
TEST(EmulatedBackend, BlackwellsWeightsAreForTheirActivations) {
  const Engine engine({.device = "emulator:sm100"});
  Scene nvfp4(engine, make_problem({2}, 8, 64));
  Scene fp16(engine, make_problem({2}, 8, 64, Op::kGemm, Activations::kFp16, Output::kFp16));
  std::swap(nvfp4.groups()[0].weights, fp16.groups()[0].weights);
  EXPECT_EQ(error_message([&] { nvfp4.run(engine); }),
            "group 0: weights were packed for fp16 or bf16 activations but the problem has nvfp4: "
            "say so when you pack them");
  EXPECT_EQ(error_message([&] { fp16.run(engine); }),
            "group 0: weights were packed for nvfp4 activations but the problem has fp16: say so "
            "when you pack them");
}

TEST(EmulatedBackend, HasNoSpeed) {
  EXPECT_EQ(error_message([] { emulator().state().measure_ceilings(0.1); }),
            "the emulator has no speed: measure on a GPU or on the CPU");
}

// As the kernels on a GPU: nobody looks, and the row's results are NaN.
TEST(EmulatedBackend, NanScaleOfActivationsMakesNans) {
  const Engine engine = emulator();
  Scene scene(engine, make_problem({2}, 8, 64, Op::kGemm, Activations::kNvfp4, Output::kFp16));
  std::vector<std::uint8_t> scales(scene.inputs().groups[0].a.scales);
  scales[5] = 0x7f;  // of the second row
  scene.groups()[0].rows.a_scales = scales.data();
  scene.run(engine, "gpu_sm90");
  std::uint16_t c[2][8];
  ASSERT_EQ(scene.output_bytes().size(), sizeof c);
  std::memcpy(c, scene.output_bytes().data(), sizeof c);
  for (int column = 0; column < 8; ++column) {
    EXPECT_FALSE(std::isnan(nvfp4::fp16_to_float(c[0][column])));
    EXPECT_TRUE(std::isnan(nvfp4::fp16_to_float(c[1][column])));
  }
}

}  // namespace
}  // namespace thresher::emulated::testing
