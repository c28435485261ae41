// SPDX-License-Identifier: Apache-2.0
// Shapes with edges, all types, groups of different n and k, and token counts that only the device
// knows.
#include <gtest/gtest.h>

#include "gpu/kernel_scene.hpp"

namespace thresher::gpu::testing {
namespace {

constexpr GemmKnobs kKnobs{.tokens = 16, .stages = 3};
constexpr GemmKnobs kStaged{.tokens = 16, .stages = 3, .store = Store::kStaged};

TEST(GemmShapes, EdgesOfNAndK) {
  const KernelSet kernels =
      kernels_for<kKnobs, Op::kGemm, ActivationType::kNvfp4, OutputType::kFp32>();
  for (const std::int64_t n : {1, 7, 64, 127, 128, 129}) {
    for (const std::int64_t k : {16, 48, 64, 80, 144}) {
      KernelScene scene(make_problem({3, 16}, n, k));
      scene.run(kKnobs, kernels);
      SCOPED_TRACE(::testing::Message() << "n " << n << " k " << k);
      EXPECT_EQ(scene.why_wrong(), "");
    }
  }
}

TEST(GemmShapes, EdgesOfADual) {
  const KernelSet kernels =
      kernels_for<kKnobs, Op::kDual, ActivationType::kNvfp4, OutputType::kFp32>();
  for (const std::int64_t n : {1, 9, 63, 64, 65, 130}) {
    for (const std::int64_t k : {16, 80}) {
      KernelScene scene(make_problem({3, 16}, n, k, Op::kDual));
      scene.run(kKnobs, kernels);
      SCOPED_TRACE(::testing::Message() << "n " << n << " k " << k);
      EXPECT_EQ(scene.why_wrong(), "");
    }
  }
}

TEST(GemmShapes, RaggedAndEmptyGroups) {
  const KernelSet kernels =
      kernels_for<kKnobs, Op::kGemm, ActivationType::kNvfp4, OutputType::kFp32>();
  const std::vector<std::int64_t> cases[] = {
      {0}, {0, 0, 0}, {1}, {0, 1, 0}, {15, 16, 17}, {40, 0, 0, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 1}};
  for (const std::vector<std::int64_t>& m : cases) {
    KernelScene scene(make_problem(m, 72, 80));
    scene.run(kKnobs, kernels);
    SCOPED_TRACE(::testing::PrintToString(m));
    EXPECT_EQ(scene.why_wrong(), "");
  }
}

// More groups than a warp looks at together, and more than the book has entries.
TEST(GemmShapes, ManyGroups) {
  constexpr GemmKnobs kBalanced{.tokens = 16, .stages = 3, .schedule = Schedule::kBalanced};
  constexpr GemmKnobs kInside{.tokens = 16, .stages = 3, .prologue = Prologue::kInside};
  constexpr GemmKnobs kPerGroup{.tokens = 16, .stages = 3, .launches = Launches::kPerGroup};
  constexpr ActivationType kCodes = ActivationType::kNvfp4;
  for (const int count : {33, 64, 65, 150}) {
    std::vector<std::int64_t> m;
    for (int i = 0; i < count; ++i) m.push_back(i % 5 == 0 ? 0 : i % 7 == 0 ? 18 : i % 3);
    SCOPED_TRACE(count);
    KernelScene scene(make_problem(m, 8, 80));
    scene.run(kKnobs, kernels_for<kKnobs, Op::kGemm, kCodes, OutputType::kFp32>());
    EXPECT_EQ(scene.why_wrong(), "");
    KernelScene balanced(make_problem(m, 8, 80));
    balanced.run(kBalanced, kernels_for<kBalanced, Op::kGemm, kCodes, OutputType::kFp32>());
    EXPECT_EQ(balanced.why_wrong(), "");
    KernelScene inside(make_problem(m, 8, 80));
    inside.run(kInside, kernels_for<kInside, Op::kGemm, kCodes, OutputType::kFp32>());
    EXPECT_EQ(inside.why_wrong(), "");
  }
  KernelScene per_group(make_problem(std::vector<std::int64_t>(70, 2), 8, 16));
  per_group.run(kPerGroup, kernels_for<kPerGroup, Op::kGemm, kCodes, OutputType::kFp32>());
  EXPECT_EQ(per_group.why_wrong(), "");
}

TEST(GemmShapes, GroupsOfDifferentNAndK) {
  Problem problem = make_problem({}, 0, 0);
  problem.groups = {{.m = 5, .n = 130, .k = 80},
                    {.m = 20, .n = 8, .k = 256},
                    {.m = 0, .n = 64, .k = 16},
                    {.m = 33, .n = 64, .k = 16}};
  KernelScene scene(problem);
  scene.run(kKnobs, kernels_for<kKnobs, Op::kGemm, ActivationType::kNvfp4, OutputType::kFp32>());
  EXPECT_EQ(scene.why_wrong(), "");

  problem.op = Op::kDual;
  constexpr GemmKnobs kTwice{.tokens = 16, .weight_rows = 256, .dual = Dual::kTwoPass};
  KernelScene dual(problem);
  dual.run(kTwice, kernels_for<kTwice, Op::kDual, ActivationType::kNvfp4, OutputType::kFp32>());
  EXPECT_EQ(dual.why_wrong(), "");
}

// The limit of tokens is all the host knows; it may be far above what there is.
TEST(GemmShapes, TokenLimitAboveTheTokens) {
  constexpr GemmKnobs kSplit{.tokens = 16, .stages = 3, .split_k = 2};
  KernelScene scene(make_problem({3, 0, 20}, 72, 144));
  scene.run(kSplit, kernels_for<kSplit, Op::kGemm, ActivationType::kNvfp4, OutputType::kFp32>(),
            /*emulator_seed=*/1, /*tokens_spare=*/500);
  EXPECT_EQ(scene.why_wrong(), "");
}

// Groups in one buffer, each after the one before: where a group begins only the device knows.
TEST(GemmShapes, RowsOfGroupsFollowEachOther) {
  constexpr ActivationType kBf16 = ActivationType::kBf16;
  KernelScene scene(make_problem({3, 0, 20, 1}, 72, 80), {.together = true});
  scene.run(kKnobs, kernels_for<kKnobs, Op::kGemm, ActivationType::kNvfp4, OutputType::kFp32>());
  EXPECT_EQ(scene.why_wrong(), "");
  KernelScene bf16(make_problem({3, 0, 20, 1}, 72, 80, Op::kGemm, Activations::kBf16),
                   {.together = true, .stride_padding = 0});
  bf16.run(kStaged, kernels_for<kStaged, Op::kGemm, kBf16, OutputType::kFp32>());
  EXPECT_EQ(bf16.why_wrong(), "");
}

// Every activation type with every output type, exact and natural inputs and the full range.
template <GemmKnobs kTurned, Op kOp, ActivationType kActivations, OutputType kOutput>
void check_types() {
  constexpr Activations kActivationsOf[] = {Activations::kNvfp4, Activations::kFp16,
                                            Activations::kBf16};
  constexpr Output kOutputOf[] = {Output::kFp16, Output::kBf16, Output::kFp32};
  const KernelSet kernels = kernels_for<kTurned, kOp, kActivations, kOutput>();
  for (const InputFamily family :
       {InputFamily::kExact, InputFamily::kNatural, InputFamily::kFull}) {
    const Problem problem =
        make_problem({9, 18}, 72, 272, kOp, kActivationsOf[static_cast<int>(kActivations)],
                     kOutputOf[static_cast<int>(kOutput)]);
    KernelScene scene(problem, {}, family);
    scene.run(kTurned, kernels);
    SCOPED_TRACE(::testing::Message() << to_string(problem.activations) << " -> "
                                      << to_string(problem.output) << ", " << to_string(family));
    EXPECT_EQ(scene.why_wrong(), "");
  }
}

template <Op kOp, ActivationType kActivations>
void check_outputs_of() {
  check_types<kKnobs, kOp, kActivations, OutputType::kFp16>();
  check_types<kKnobs, kOp, kActivations, OutputType::kBf16>();
  check_types<kKnobs, kOp, kActivations, OutputType::kFp32>();
  check_types<kStaged, kOp, kActivations, OutputType::kFp16>();
}

TEST(GemmTypes, GemmOfNvfp4) { check_outputs_of<Op::kGemm, ActivationType::kNvfp4>(); }
TEST(GemmTypes, GemmOfFp16) { check_outputs_of<Op::kGemm, ActivationType::kFp16>(); }
TEST(GemmTypes, GemmOfBf16) { check_outputs_of<Op::kGemm, ActivationType::kBf16>(); }
TEST(GemmTypes, DualOfNvfp4) { check_outputs_of<Op::kDual, ActivationType::kNvfp4>(); }
TEST(GemmTypes, DualOfFp16) { check_outputs_of<Op::kDual, ActivationType::kFp16>(); }
TEST(GemmTypes, DualOfBf16) { check_outputs_of<Op::kDual, ActivationType::kBf16>(); }

TEST(GemmTypes, BaselineAndTwoPasses) {
  constexpr GemmKnobs kPlain{.kind = GemmKind::kPlain, .tokens = 16};
  check_types<kPlain, Op::kGemm, ActivationType::kBf16, OutputType::kFp16>();
  constexpr GemmKnobs kTwice{.tokens = 16, .weight_rows = 256, .dual = Dual::kTwoPass};
  check_types<kTwice, Op::kDual, ActivationType::kBf16, OutputType::kBf16>();
}

}  // namespace
}  // namespace thresher::gpu::testing
