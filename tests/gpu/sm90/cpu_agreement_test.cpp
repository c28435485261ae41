// SPDX-License-Identifier: Apache-2.0
// On exact inputs the GPU kernels and the CPU backend give the same bits, SiLU included: the sums
// are exact, and both finish them in the same steps.
#include <gtest/gtest.h>

#include "gpu/kernel_scene.hpp"
#include "thresher/engine.hpp"

namespace thresher::gpu::testing {
namespace {

template <GemmKnobs kKnobs, Op kOp, ActivationType kActivations, OutputType kOutput>
void expect_agreement(Activations activations, Output output) {
  const Problem problem = make_problem({5, 0, 20}, 70, 208, kOp, activations, output);
  KernelScene scene(problem);
  scene.run(kKnobs, kernels_for<kKnobs, kOp, kActivations, kOutput>());
  const Engine cpu({.thread_count = 1});
  Scene same(cpu, problem, InputFamily::kExact, /*seed=*/3);
  same.run(cpu, "cpu_portable");
  EXPECT_EQ(scene.output_bytes(), same.output_bytes());
}

constexpr GemmKnobs kFused{.tokens = 16, .stages = 3};
constexpr GemmKnobs kTwoPass{.tokens = 16, .weight_rows = 256, .dual = Dual::kTwoPass};

TEST(CpuAgreement, DualOfNvfp4) {
  expect_agreement<kFused, Op::kDual, ActivationType::kNvfp4, OutputType::kFp32>(
      Activations::kNvfp4, Output::kFp32);
  expect_agreement<kFused, Op::kDual, ActivationType::kNvfp4, OutputType::kFp16>(
      Activations::kNvfp4, Output::kFp16);
  expect_agreement<kTwoPass, Op::kDual, ActivationType::kNvfp4, OutputType::kBf16>(
      Activations::kNvfp4, Output::kBf16);
}

TEST(CpuAgreement, DualOfBf16) {
  expect_agreement<kFused, Op::kDual, ActivationType::kBf16, OutputType::kFp32>(Activations::kBf16,
                                                                                Output::kFp32);
}

TEST(CpuAgreement, GemmOfFp16) {
  expect_agreement<kFused, Op::kGemm, ActivationType::kFp16, OutputType::kBf16>(Activations::kFp16,
                                                                                Output::kBf16);
}

}  // namespace
}  // namespace thresher::gpu::testing
