// SPDX-License-Identifier: Apache-2.0
// On exact inputs the GPU kernels and the CPU backend give the same bits, SiLU included: the sums
// are exact, and both finish them in the same steps.
#include <gtest/gtest.h>

#include "gpu/sm90/kernel_scene.hpp"
#include "thresher/engine.hpp"

namespace thresher::gpu::sm90::testing {
namespace {

// The same problem on the CPU backend; the written elements of all groups, in order.
std::vector<std::uint8_t> cpu_bytes(const Problem& problem, const Inputs& inputs) {
  const Engine engine({.thread_count = 1});
  std::vector<Weights> weights;
  std::vector<std::vector<std::uint8_t>> outputs;
  std::vector<GroupOperands> operands;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const Group& group = problem.groups[g];
    const GroupInputs& in = inputs.groups[g];
    weights.push_back(problem.op == Op::kDual ? engine.pack_dual(in.b.view(), in.b_up.view())
                                              : engine.pack(in.b.view()));
    outputs.emplace_back(
        static_cast<std::size_t>(group.m * group.n * bytes_per_element(problem.output)));
  }
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const GroupInputs& in = inputs.groups[g];
    operands.push_back({.a = in.a.view(),
                        .a16 = in.a16.data(),
                        .weights = &weights[g],
                        .c = outputs[g].data(),
                        .alpha = in.alpha,
                        .alpha_up = in.alpha_up});
  }
  const Plan plan = engine.plan(problem, "cpu_portable");
  Workspace workspace(plan);
  engine.run(plan, operands, workspace);
  std::vector<std::uint8_t> bytes;
  for (const auto& output : outputs) bytes.insert(bytes.end(), output.begin(), output.end());
  return bytes;
}

template <GemmKnobs kKnobs, Op kOp, ActivationType kActivations, OutputType kOutput>
void expect_agreement(Activations activations, Output output) {
  const Problem problem = make_problem({5, 0, 20}, 70, 208, kOp, activations, output);
  KernelScene scene(problem, {.family = InputFamily::kExact, .seed = 3});
  scene.run(kKnobs, kernels_for<kKnobs, kOp, kActivations, kOutput>());
  EXPECT_EQ(scene.output_bytes(), cpu_bytes(problem, scene.inputs()));
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
}  // namespace thresher::gpu::sm90::testing
