// SPDX-License-Identifier: Apache-2.0
// The warps' kernel in the emulator: edges, types, ragged groups, knobs and parts, against the
// oracle, bit for bit, with guard bands intact and several orders of events.
#include <gtest/gtest.h>

#include "gpu/sm80/warp_scene.hpp"

namespace thresher::gpu::sm80::testing {
namespace {

constexpr ActivationType kNvfp4 = ActivationType::kNvfp4;

// Small tiles, so that a block has several.
constexpr GemmKnobs small() {
  GemmKnobs knobs = default_knobs();
  knobs.tokens = 16;
  knobs.stages = 3;
  return knobs;
}

template <auto kTurn>
constexpr GemmKnobs turned() {
  GemmKnobs knobs = small();
  kTurn(knobs);
  return knobs;
}

template <GemmKnobs kKnobs, Op kOp = Op::kGemm, OutputType kOutput = OutputType::kFp32>
void expect_right(SceneLayout layout = {}) {
  constexpr Output kProblemOutput = kOutput == OutputType::kFp32 ? Output::kFp32 : Output::kFp16;
  WarpScene scene(make_problem({5, 0, 17, 33}, 130, 208, kOp, Activations::kNvfp4, kProblemOutput),
                  layout);
  for (const std::uint64_t emulator_seed : {1, 2, 3}) {
    scene.run(kKnobs, kernels_for<kKnobs, kOp, kNvfp4, kOutput>(), emulator_seed,
              /*tokens_spare=*/emulator_seed == 3 ? 11 : 0);
    EXPECT_EQ(scene.why_wrong(), "");
  }
}

TEST(WarpGemm, EdgesOfNAndK) {
  const KernelSet kernels =
      kernels_for<small(), Op::kGemm, ActivationType::kBf16, OutputType::kFp32>();
  for (const std::int64_t n : {1, 7, 127, 128, 129}) {
    for (const std::int64_t k : {16, 48, 64, 80, 144}) {
      WarpScene scene(make_problem({3, 16}, n, k, Op::kGemm, Activations::kBf16));
      scene.run(small(), kernels);
      SCOPED_TRACE(::testing::Message() << "n " << n << " k " << k);
      EXPECT_EQ(scene.why_wrong(), "");
    }
  }
}

TEST(WarpGemm, RaggedAndEmptyGroups) {
  const KernelSet kernels = kernels_for<small(), Op::kGemm, kNvfp4, OutputType::kFp32>();
  const std::vector<std::int64_t> cases[] = {{0},
                                             {0, 0, 0},
                                             {1},
                                             {0, 1, 0},
                                             {15, 16, 17},
                                             {40, 0, 0, 8},
                                             {1, 1, 1, 1, 1, 1, 1, 1, 1},
                                             std::vector<std::int64_t>(65, 1)};
  for (const std::vector<std::int64_t>& m : cases) {
    for (const bool together : {false, true}) {
      WarpScene scene(make_problem(m, 72, 80), {.together = together});
      scene.run(small(), kernels);
      SCOPED_TRACE(::testing::PrintToString(m));
      EXPECT_EQ(scene.why_wrong(), "");
    }
  }
}

TEST(WarpGemm, Dual) { expect_right<small(), Op::kDual>(); }

TEST(WarpGemm, TwoPasses) {
  expect_right<turned<[](GemmKnobs& k) { k.dual = Dual::kTwoPass; }>(), Op::kDual>();
}

TEST(WarpGemm, Stages) {
  expect_right<turned<[](GemmKnobs& k) { k.stages = 2; }>()>();
  expect_right<turned<[](GemmKnobs& k) { k.stages = 7; }>()>();
}

// Several strips and warpgroups, widths that are no power of two, blocks that share an SM.
TEST(WarpGemm, TileShapes) {
  expect_right<turned<[](GemmKnobs& k) { k.tokens = 40, k.weight_rows = 256; }>()>();
  expect_right<turned<[](GemmKnobs& k) {
    k.tokens = 8, k.weight_rows = 256, k.consumer_warpgroups = 4;
  }>()>();
  expect_right<turned<[](GemmKnobs& k) { k.blocks_per_sm = 2; }>()>();
  expect_right<turned<[](GemmKnobs& k) { k.widths = Widths::kFixed; }>()>();
}

TEST(WarpGemm, StoreVectors) {
  constexpr GemmKnobs kVectors = turned<[](GemmKnobs& k) { k.store = Store::kVectors; }>();
  expect_right<kVectors, Op::kGemm, OutputType::kFp16>({.stride_padding = 6});
  expect_right<kVectors, Op::kGemm, OutputType::kFp16>({.stride_padding = 3});
  expect_right<kVectors, Op::kDual>();
}

TEST(WarpGemm, Parts) {
  expect_right<turned<[](GemmKnobs& k) { k.split_k = 2; }>()>();
  expect_right<turned<[](GemmKnobs& k) { k.split_k = 4; }>()>();
  expect_right<turned<[](GemmKnobs& k) { k.schedule = Schedule::kBalanced; }>()>();
  expect_right<turned<[](GemmKnobs& k) { k.schedule = Schedule::kBalanced; }>(), Op::kDual>();
}

TEST(WarpGemm, LaunchPerGroup) {
  expect_right<turned<[](GemmKnobs& k) { k.launches = Launches::kPerGroup; }>()>();
}

}  // namespace
}  // namespace thresher::gpu::sm80::testing
