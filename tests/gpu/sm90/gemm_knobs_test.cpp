// SPDX-License-Identifier: Apache-2.0
// Every knob of the GEMM kernel in the emulator, one turned at a time: against the oracle, bit for
// bit, with guard bands intact, and with several orders of events.
#include <gtest/gtest.h>

#include "gpu/kernel_scene.hpp"

namespace thresher::gpu::testing {
namespace {

constexpr ActivationType kNvfp4 = ActivationType::kNvfp4;

// Ragged groups, none a multiple of anything, one empty; n and k with edges.
const std::vector<std::int64_t> kRagged = {5, 0, 17, 33};

struct Shape {
  std::vector<std::int64_t> m = kRagged;
  std::int64_t n = 130;
  std::int64_t k = 208;
};

template <GemmKnobs kKnobs, Op kOp = Op::kGemm, OutputType kOutput = OutputType::kFp32>
void expect_right(const Shape& shape = {}, SceneLayout layout = {}) {
  constexpr Output kProblemOutput = kOutput == OutputType::kFp32   ? Output::kFp32
                                    : kOutput == OutputType::kFp16 ? Output::kFp16
                                                                   : Output::kBf16;
  KernelScene scene(
      make_problem(shape.m, shape.n, shape.k, kOp, Activations::kNvfp4, kProblemOutput), layout);
  for (const std::uint64_t emulator_seed : {1, 2}) {
    scene.run(kKnobs, kernels_for<kKnobs, kOp, kNvfp4, kOutput>(), emulator_seed);
    EXPECT_EQ(scene.why_wrong(), "");
  }
}

template <GemmKnobs kKnobs>
void expect_right_of_bf16() {
  KernelScene scene(make_problem(kRagged, 130, 208, Op::kGemm, Activations::kBf16));
  scene.run(kKnobs, kernels_for<kKnobs, Op::kGemm, ActivationType::kBf16, OutputType::kFp32>());
  EXPECT_EQ(scene.why_wrong(), "");
}

constexpr GemmKnobs kSmall{.tokens = 16};

constexpr GemmKnobs with_stages(int stages) {
  GemmKnobs knobs = kSmall;
  knobs.stages = stages;
  return knobs;
}

TEST(GemmKnobs, Stages) {
  expect_right<with_stages(2)>();
  expect_right<with_stages(3)>();
  expect_right<with_stages(4)>();
  expect_right<with_stages(6)>();
}

constexpr GemmKnobs inside(GemmKnobs knobs = kSmall) {
  knobs.prologue = Prologue::kInside;
  return knobs;
}

// Two blocks run at a time here, so that those make the images of all others, and nobody may wait
// for a block that has not started.
TEST(GemmKnobs, PrologueInside) {
  expect_right<inside()>();
  expect_right<inside(), Op::kDual>();
  expect_right<inside({.tokens = 16, .weight_rows = 256, .consumer_warpgroups = 4})>();
  expect_right<inside({.tokens = 16, .schedule = Schedule::kBalanced})>();
  expect_right<inside({.tokens = 16, .split_k = 3})>();
  expect_right<inside({.tokens = 16, .consumer_warpgroups = 1})>();
  expect_right<inside()>({.m = {0, 0}});
}

TEST(GemmKnobs, PrologueInsideOfWideActivations) { expect_right_of_bf16<inside()>(); }

constexpr GemmKnobs with_tokens(int tokens) { return {.tokens = tokens, .stages = 3}; }

TEST(GemmKnobs, TokensPerTile) {
  expect_right<with_tokens(8)>();
  expect_right<with_tokens(24)>();
  expect_right<with_tokens(40)>();
  expect_right<with_tokens(128)>();
  expect_right<GemmKnobs{.tokens = 256, .stages = 2}>({.m = {300}, .n = 64, .k = 64});
}

TEST(GemmKnobs, WeightRowsAndWarpgroups) {
  expect_right<GemmKnobs{.tokens = 16, .weight_rows = 128, .consumer_warpgroups = 1}>();
  // 130 columns leave the second half of the second tile without rows.
  expect_right<GemmKnobs{.tokens = 16, .weight_rows = 256, .consumer_warpgroups = 1}>();
  expect_right<GemmKnobs{.tokens = 16, .weight_rows = 256, .consumer_warpgroups = 2}>();
  expect_right<GemmKnobs{.tokens = 16, .weight_rows = 256, .consumer_warpgroups = 2}>(
      {.m = kRagged, .n = 300, .k = 80});
}

TEST(GemmKnobs, FragmentSteps) {
  expect_right<GemmKnobs{.tokens = 16, .fragment_steps = 2}>();
  expect_right<GemmKnobs{.tokens = 16, .weight_rows = 256, .fragment_steps = 2}>();
}

TEST(GemmKnobs, WithoutSpecialisation) {
  expect_right<GemmKnobs{.tokens = 16, .stages = 2, .specialised = false}>();
  expect_right<GemmKnobs{.tokens = 16, .stages = 4, .specialised = false}>();
  expect_right<GemmKnobs{
      .tokens = 16, .consumer_warpgroups = 1, .stages = 3, .specialised = false}>();
}

// Where rows do not lie on 16 bytes they are stored element by element, and elsewhere as `kStore`
// says.
template <Store kStore>
void expect_staged_floats_right() {
  constexpr GemmKnobs kKnobs{.tokens = 24, .store = kStore};
  expect_right<kKnobs>();
  expect_right<kKnobs>({.m = kRagged, .n = 132, .k = 80}, {.stride_padding = 0});
}

template <Store kStore>
void expect_staged_halves_right() {
  constexpr GemmKnobs kKnobs{.tokens = 24, .store = kStore};
  expect_right<kKnobs, Op::kGemm, OutputType::kFp16>();
  expect_right<kKnobs, Op::kGemm, OutputType::kFp16>({.m = kRagged, .n = 136, .k = 80},
                                                     {.stride_padding = 8});
  constexpr GemmKnobs kTwoUnits{.tokens = 16, .weight_rows = 256, .store = kStore};
  expect_right<kTwoUnits, Op::kGemm, OutputType::kBf16>({.m = kRagged, .n = 264, .k = 80},
                                                        {.stride_padding = 8});
}

template <Store kStore>
void expect_staged_dual_right() {
  constexpr GemmKnobs kKnobs{.tokens = 24, .store = kStore};
  expect_right<kKnobs, Op::kDual, OutputType::kBf16>();
  expect_right<kKnobs, Op::kDual, OutputType::kBf16>({.m = kRagged, .n = 72, .k = 80},
                                                     {.stride_padding = 8});
  expect_right<kKnobs, Op::kDual, OutputType::kFp32>({.m = kRagged, .n = 68, .k = 80},
                                                     {.stride_padding = 0});
}

TEST(GemmKnobs, StagedStoreOfFloats) { expect_staged_floats_right<Store::kStaged>(); }
TEST(GemmKnobs, StagedStoreOfHalves) { expect_staged_halves_right<Store::kStaged>(); }
TEST(GemmKnobs, StagedStoreOfADual) { expect_staged_dual_right<Store::kStaged>(); }
TEST(GemmKnobs, VectorStoreOfFloats) { expect_staged_floats_right<Store::kVectors>(); }
TEST(GemmKnobs, VectorStoreOfHalves) { expect_staged_halves_right<Store::kVectors>(); }
TEST(GemmKnobs, VectorStoreOfADual) { expect_staged_dual_right<Store::kVectors>(); }

TEST(GemmKnobs, SplitK) {
  expect_right<GemmKnobs{.tokens = 16, .split_k = 2}>();
  expect_right<GemmKnobs{.tokens = 16, .split_k = 3}>();
  // More parts than tiles of k: some are empty.
  expect_right<GemmKnobs{.tokens = 16, .split_k = 5}>({.m = kRagged, .n = 130, .k = 144});
  expect_right<GemmKnobs{.tokens = 16, .weight_rows = 256, .split_k = 2}>();
  expect_right<GemmKnobs{.tokens = 16, .specialised = false, .split_k = 2}>();
  expect_right<GemmKnobs{.tokens = 16, .split_k = 2}, Op::kDual, OutputType::kFp16>();
}

constexpr GemmKnobs kThree{.tokens = 16, .weight_rows = 192, .consumer_warpgroups = 3};

// Every second tile begins in the middle of a tile of weights.
TEST(GemmKnobs, Rows192) {
  expect_right<kThree>({.m = kRagged, .n = 500, .k = 208});
  expect_right<kThree>({.m = kRagged, .n = 260, .k = 80});
  expect_right<kThree, Op::kDual, OutputType::kFp16>({.m = kRagged, .n = 300, .k = 208});
  expect_right<GemmKnobs{.tokens = 24,
                         .weight_rows = 192,
                         .consumer_warpgroups = 3,
                         .stages = 6,
                         .store = Store::kVectors},
               Op::kDual, OutputType::kFp16>({.m = kRagged, .n = 300, .k = 1104});
  expect_right<GemmKnobs{.tokens = 16,
                         .weight_rows = 192,
                         .consumer_warpgroups = 3,
                         .store = Store::kVectors,
                         .schedule = Schedule::kBalanced}>({.m = kRagged, .n = 500, .k = 336});
}

constexpr GemmKnobs three_with(auto turn) {
  GemmKnobs knobs = kThree;
  turn(knobs);
  return knobs;
}

// What walks, loads and stores in another way, on three row tiles, of which the second begins with
// the half of a tile of weights, and on an edge within such a tile.
TEST(GemmKnobs, Rows192WithOtherKnobs) {
  const Shape three_tiles{.m = {5, 0, 17}, .n = 500, .k = 208};
  const Shape half_tile{.m = {5, 0, 17}, .n = 260, .k = 144};
  expect_right<three_with([](GemmKnobs& k) { k.split_k = 2; })>(three_tiles);
  expect_right<three_with([](GemmKnobs& k) { k.arrive = Arrive::kWarp; })>(half_tile);
  constexpr GemmKnobs kStaged = three_with([](GemmKnobs& k) { k.store = Store::kStaged; });
  expect_right<kStaged, Op::kGemm, OutputType::kFp16>(
      {.m = three_tiles.m, .n = 504, .k = three_tiles.k}, {.stride_padding = 8});
  constexpr GemmKnobs kInside = three_with(
      [](GemmKnobs& k) { k.schedule = Schedule::kBalanced, k.prologue = Prologue::kInside; });
  expect_right<kInside>(three_tiles);
  expect_right<kInside, Op::kDual, OutputType::kBf16>({.m = three_tiles.m, .n = 300, .k = 336});
}

// Three blocks share the work: stretches end inside tiles, and with few tiles a tile has three
// parts.
TEST(GemmKnobs, BalancedSchedule) {
  constexpr GemmKnobs kKnobs{.tokens = 16, .schedule = Schedule::kBalanced};
  expect_right<kKnobs>();
  expect_right<kKnobs>({.m = {1}, .n = 8, .k = 400});
  expect_right<kKnobs>({.m = {1}, .n = 8, .k = 64});
  expect_right<kKnobs>({.m = {0, 0}, .n = 8, .k = 64});
  expect_right<kKnobs, Op::kDual, OutputType::kFp16>({.m = kRagged, .n = 100, .k = 336});
  expect_right<GemmKnobs{.tokens = 16,
                         .weight_rows = 256,
                         .specialised = false,
                         .schedule = Schedule::kBalanced,
                         .launches = Launches::kPerGroup}>();
  constexpr GemmKnobs kTwice{.tokens = 16,
                             .consumer_warpgroups = 1,
                             .store = Store::kStaged,
                             .schedule = Schedule::kBalanced,
                             .dual = Dual::kTwoPass};
  expect_right<kTwice, Op::kDual, OutputType::kBf16>();
}

TEST(GemmKnobs, BlocksPerSm) {
  expect_right<GemmKnobs{
      .tokens = 16, .consumer_warpgroups = 1, .stages = 3, .blocks_per_sm = 2}>();
}

TEST(GemmKnobs, LaunchPerGroup) {
  expect_right<GemmKnobs{.tokens = 16, .launches = Launches::kPerGroup}>();
  expect_right<GemmKnobs{.tokens = 16, .split_k = 2, .launches = Launches::kPerGroup}>();
  expect_right<GemmKnobs{.tokens = 16, .launches = Launches::kPerGroup}, Op::kDual>();
  expect_right<GemmKnobs{.tokens = 16, .launches = Launches::kStreams}>();
}

TEST(GemmKnobs, TwoPassDual) {
  constexpr GemmKnobs kKnobs{.tokens = 16, .weight_rows = 256, .dual = Dual::kTwoPass};
  expect_right<kKnobs, Op::kDual, OutputType::kFp16>();
  expect_right<kKnobs, Op::kDual, OutputType::kFp32>();
  constexpr GemmKnobs kOneWarpgroup{.tokens = 16,
                                    .consumer_warpgroups = 1,
                                    .store = Store::kStaged,
                                    .launches = Launches::kPerGroup,
                                    .dual = Dual::kTwoPass};
  expect_right<kOneWarpgroup, Op::kDual, OutputType::kBf16>();
  expect_right<kOneWarpgroup, Op::kDual, OutputType::kBf16>({.m = kRagged, .n = 72, .k = 80},
                                                            {.stride_padding = 8});
}

TEST(GemmKnobs, Baseline) {
  constexpr GemmKnobs kKnobs{
      .kind = GemmKind::kPlain, .tokens = 16, .launches = Launches::kPerGroup};
  expect_right<kKnobs>();
  expect_right<kKnobs, Op::kDual, OutputType::kFp16>();
  constexpr GemmKnobs kTwice{.kind = GemmKind::kPlain,
                             .tokens = 32,
                             .launches = Launches::kPerGroup,
                             .dual = Dual::kTwoPass};
  expect_right<kTwice, Op::kDual, OutputType::kBf16>();
}

// All knobs that only move work around must not change a bit, whatever the inputs.
TEST(GemmKnobs, LeaveTheBitsAlone) {
  const Problem problem =
      make_problem(kRagged, 70, 144, Op::kDual, Activations::kNvfp4, Output::kFp32);
  KernelScene scene(problem, {}, InputFamily::kNatural);
  constexpr OutputType kFp32 = OutputType::kFp32;
  const auto bytes_of = [&]<GemmKnobs kKnobs>() {
    scene.run(kKnobs, kernels_for<kKnobs, Op::kDual, kNvfp4, kFp32>());
    return scene.output_bytes();
  };
  const auto reference = bytes_of.operator()<kSmall>();
  EXPECT_EQ((bytes_of.operator()<GemmKnobs{.tokens = 40}>()), reference);
  EXPECT_EQ((bytes_of.operator()<GemmKnobs{.tokens = 16, .fragment_steps = 2}>()), reference);
  EXPECT_EQ((bytes_of.operator()<GemmKnobs{.tokens = 16, .specialised = false}>()), reference);
  EXPECT_EQ((bytes_of.operator()<GemmKnobs{.tokens = 16, .store = Store::kStaged}>()), reference);
  EXPECT_EQ(
      (bytes_of.operator()<GemmKnobs{.tokens = 16, .weight_rows = 256, .dual = Dual::kTwoPass}>()),
      reference);
  EXPECT_EQ((bytes_of.operator()<GemmKnobs{.kind = GemmKind::kPlain, .tokens = 16}>()), reference);
}

}  // namespace
}  // namespace thresher::gpu::testing
