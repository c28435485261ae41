// SPDX-License-Identifier: Apache-2.0
// The model of time on problems whose tiles can be counted by hand.
#include "gpu/sm90/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gemm/suite.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu::sm90 {
namespace {

constexpr double kSms = 132;
constexpr double kGopPerS = 824546;  // where the model was fitted

Machine device() {
  return {.rates = {.read_gb_per_s = 4000,
                    .nvfp4_gop_per_s = kGopPerS,
                    .fp16_gop_per_s = kGopPerS,
                    .bf16_gop_per_s = kGopPerS}};
}

ModelledRun model(const Problem& problem, std::string_view variant,
                  const Machine& machine = device()) {
  const Variant read = variant_from_name(variant);
  EXPECT_EQ(supports(read, problem, machine.limits).why_not, "") << variant;
  return modelled_run(problem, read, machine, tile_times());
}

// 64 k tiles, and 32 tiles of 128 rows for every tile of tokens.
Problem one_group(std::int64_t m, std::int64_t n = 4096, std::int64_t k = 4096) {
  return {.name = "p", .groups = {{.m = m, .n = n, .k = k}}};
}

double span_ns(const Problem& problem, std::string_view variant) {
  const GemmKnobs knobs = variant_from_name(variant).knobs;
  const Product product = products_of(knobs, problem.op).front();
  return Tiling(problem.groups, knobs.kind, config_of(knobs, problem, product), {}, tile_times())
      .span_ns();
}

// What a k tile of 128 rows and so many tokens waits for when so many blocks fetch from the L2.
double l2_ns(int tokens, int blocks) { return (tokens * 128 + 4608) * blocks / 6800.0; }

TEST(Tiling, AKTileIsDecodedAndMultiplied) {
  EXPECT_DOUBLE_EQ(span_ns(one_group(128), "gpu_sm90"), 64 * (165 + 1.5 * 128) + 750);
  EXPECT_DOUBLE_EQ(span_ns(one_group(128), "gpu_sm90:rows=256,steps=2"),
                   64 * (250 + 3.0 * 128) + 1500);
  // 176 tokens are two tiles of 96, 192 columns in all.
  EXPECT_DOUBLE_EQ(span_ns(one_group(176), "gpu_sm90"), 64 * (165 + 1.5 * 96) + 750);
  EXPECT_DOUBLE_EQ(span_ns(one_group(176), "gpu_sm90:widths=fixed"),
                   span_ns(one_group(128), "gpu_sm90"));
}

// 4096 rows are 22 tiles of 192, of which the last is charged like the others.
TEST(Tiling, RowsOf192LieBetween) {
  const double tile = 64 * (220 + 2.4 * 128) + 1125;
  EXPECT_DOUBLE_EQ(span_ns(one_group(128), "gpu_sm90:rows=192,warpgroups=3,steps=2"), tile);
  EXPECT_LT(span_ns(one_group(128), "gpu_sm90"), tile);
  EXPECT_GT(span_ns(one_group(128), "gpu_sm90:rows=256,steps=2"), tile);
  EXPECT_DOUBLE_EQ(span_ns(one_group(768), "gpu_sm90:rows=192,warpgroups=3,steps=2"),
                   tile);  // 132 tiles
  EXPECT_DOUBLE_EQ(span_ns(one_group(769), "gpu_sm90:rows=192,warpgroups=3,steps=2"),
                   2 * tile - 64 * 2.4 * 64);
}

// The choice and the kernels of a balanced schedule count with the same times, the latter in whole
// units of 8 columns: 250 / 24 and 220 / 19.2.
TEST(TileTime, KernelsCountAsTheModelDoes) {
  for (const int rows : {128, 256}) EXPECT_EQ(k_tile_cost(rows, 128), 16u + 10) << rows;
  EXPECT_EQ(k_tile_cost(192, 128), 16u + 11);
  EXPECT_EQ(k_tile_cost(192, 8), 1u + 11);
}

TEST(Tiling, FewTokensAreBoundByDecoding) {
  for (const std::int64_t m : {8, 16, 40}) {
    EXPECT_DOUBLE_EQ(span_ns(one_group(m), "gpu_sm90:tokens=40"), 64 * 230 + 750) << m;
  }
  EXPECT_DOUBLE_EQ(span_ns(one_group(48), "gpu_sm90:tokens=48"), 64 * (165 + 1.5 * 48) + 750);
}

TEST(Tiling, ManyBlocksWaitForTheL2) {
  EXPECT_LT(l2_ns(128, 96), 165 + 1.5 * 128);
  EXPECT_DOUBLE_EQ(span_ns(one_group(384), "gpu_sm90"), 64 * (165 + 1.5 * 128) + 750);
  EXPECT_DOUBLE_EQ(span_ns(one_group(512), "gpu_sm90"), 64 * l2_ns(128, 128) + 750);
}

// It loads gate and up, and multiplies one of them.
TEST(Tiling, APassOverDualWeightsFetchesAllOfThem) {
  Problem problem = one_group(512);
  problem.op = Op::kDual;
  const double all_ns = (128 * 128 + 2 * 4608) * 128 / 6800.0;
  EXPECT_GT(all_ns, l2_ns(128, 128));
  EXPECT_DOUBLE_EQ(span_ns(problem, "gpu_sm90:rows=256,dual=two_pass"), 64 * all_ns + 750);
}

// A pass of 64 rows is charged like 128, but for what finishing its tiles takes.
TEST(Tiling, APassOfOneWarpgroupIsChargedLikeTwo) {
  Problem problem = one_group(64, 2048);
  problem.op = Op::kDual;
  EXPECT_DOUBLE_EQ(span_ns(problem, "gpu_sm90:warpgroups=1,tokens=64,dual=two_pass"),
                   64 * (165 + 1.5 * 64) + 375);
}

TEST(Tiling, TilesComeInWaves) {
  const double tile = 64 * l2_ns(128, 132) + 750;
  EXPECT_DOUBLE_EQ(span_ns(one_group(640), "gpu_sm90"), 2 * tile);  // 160 tiles
  EXPECT_DOUBLE_EQ(span_ns(one_group(640), "gpu_sm90:schedule=balanced"),
                   160 * tile / kSms + 3000 * (1 + kSms / 160));
  EXPECT_DOUBLE_EQ(span_ns(one_group(1280), "gpu_sm90:rows=256,steps=2,schedule=balanced"),
                   160 * (64 * (250 + 3.0 * 128) + 1500) / kSms + 5000 * (1 + kSms / 160));
  // So many that the fullest block is as good as the mean.
  const std::int64_t many = 132 * 64 + 1;
  EXPECT_NEAR(span_ns(one_group(128, 128 * many, 64), "gpu_sm90"),
              static_cast<double>(many) * (l2_ns(128, 132) + 750) / kSms, 1e-6);
}

TEST(Tiling, ThePlainKernelWaitsForEveryKTile) {
  EXPECT_DOUBLE_EQ(span_ns(one_group(128), "gpu_sm90:kernel=plain"),
                   64 * (165 + 1.5 * 128 + 800) + 750);
}

TEST(Tiling, OfNoTokensTakesNoTime) { EXPECT_EQ(span_ns(one_group(0), "gpu_sm90"), 0); }

TEST(Model, WorkAndBalanceAreThoseOfTheTiles) {
  const ModelledRun run = model(one_group(128), "gpu_sm90");
  const double useful_us = 2.0 * 128 * 4096 * 4096 / (kGopPerS * 1e3) * kSms;
  EXPECT_NEAR(run.work, 32 * 1e-3 * span_ns(one_group(128), "gpu_sm90") / useful_us, 1e-9);
  EXPECT_NEAR(run.balance, 32 / kSms, 1e-9);
  EXPECT_NEAR(model(one_group(640), "gpu_sm90").balance, 160.0 / 264, 1e-9);
  EXPECT_NEAR(model(one_group(640), "gpu_sm90:schedule=balanced").balance, 1, 1e-9);
}

TEST(Model, TimeIsThatOfTheLastBlockBesideItsLaunchAndItsPrologue) {
  const ModelledRun run = model(one_group(128), "gpu_sm90");
  const double prologue_bytes = 128 * 4096 * (0.5625 + 2);
  EXPECT_EQ(run.launch_us, 2);
  EXPECT_NEAR(run.us, 2 + prologue_bytes / 4e6 + 1e-3 * span_ns(one_group(128), "gpu_sm90"), 1e-9);
}

TEST(Model, AnotherDeviceIsAsMuchSlowerAsItsRate) {
  Machine slow = device();
  slow.rates.nvfp4_gop_per_s = slow.rates.fp16_gop_per_s = kGopPerS / 2;
  const ModelledRun run = model(one_group(128), "gpu_sm90", slow);
  const ModelledRun fitted = model(one_group(128), "gpu_sm90");
  EXPECT_NEAR(run.us - fitted.us, 1e-3 * span_ns(one_group(128), "gpu_sm90"), 1e-9);
  EXPECT_NEAR(run.work, fitted.work, 1e-9);
}

TEST(Model, SplitKFindsWorkForIdleSms) {
  const ModelledRun whole = model(one_group(128), "gpu_sm90");
  const ModelledRun split = model(one_group(128), "gpu_sm90:split_k=4");
  EXPECT_NEAR(split.balance, 4 * whole.balance, 1e-9);
  EXPECT_LT(split.us, whole.us);
  EXPECT_DOUBLE_EQ(span_ns(one_group(128), "gpu_sm90:split_k=4"), 16 * l2_ns(128, 128) + 750);
  // Each of 128 parts has 128 x 128 floats, written and read.
  EXPECT_NEAR(split.bytes - whole.bytes, 2.0 * 128 * 128 * 128 * 4, 1e-6);
}

TEST(Model, GroupsInTurnLeaveSmsIdle) {
  const Problem problem{.name = "p", .groups = {{128, 4096, 4096}, {128, 4096, 4096}}};
  const ModelledRun in_turn = model(problem, "gpu_sm90:launches=per_group");
  const ModelledRun streams = model(problem, "gpu_sm90:launches=streams");
  const ModelledRun grouped = model(problem, "gpu_sm90");
  EXPECT_NEAR(in_turn.balance, 32 / kSms, 1e-9);
  EXPECT_NEAR(streams.balance, 64 / kSms, 1e-9);
  EXPECT_NEAR(grouped.balance, 64 / kSms, 1e-9);
  EXPECT_NEAR(in_turn.launch_us, 2 * grouped.launch_us, 1e-9);
  EXPECT_NEAR(streams.launch_us, in_turn.launch_us, 1e-9);
  EXPECT_LT(grouped.us, streams.us);
  EXPECT_LT(streams.us, in_turn.us);
}

TEST(Model, AGraphLaunchesForLess) {
  const ModelledRun eager = model(one_group(128), "gpu_sm90");
  const ModelledRun graph = model(one_group(128), "gpu_sm90:graph=on");
  EXPECT_LT(graph.launch_us, eager.launch_us);
  EXPECT_NEAR(eager.us - graph.us, eager.launch_us - graph.launch_us, 1e-9);
}

TEST(Model, TwoPassesReadWeightsTwiceAndKeepGates) {
  Problem problem = one_group(256);
  problem.op = Op::kDual;
  const ModelledRun fused = model(problem, "gpu_sm90:warpgroups=1");
  const ModelledRun passes = model(problem, "gpu_sm90:warpgroups=1,dual=two_pass");
  const double weights = 2.0 * 4096 * 4096 * 0.5625;
  const double gates = 2.0 * 256 * 4096 * 4;
  EXPECT_NEAR(passes.bytes - fused.bytes, weights + gates, 1e-6);
  EXPECT_NEAR(passes.launch_us, 2 * fused.launch_us, 1e-9);
  EXPECT_GT(passes.us, fused.us);
}

TEST(Model, TheProloguesImagesCountAsBytes) {
  // Beyond the fewest bytes: activations once more as 16-bit images of whole tiles.
  const Problem problem = one_group(176);
  EXPECT_NEAR(model(problem, "gpu_sm90").bytes - fewest_bytes(problem), 192.0 * 4096 * 2, 1e-6);
}

TEST(Model, DecodingIsBoundByMemory) {
  // One token for each of eight experts: what is chosen for it comes next to the floor.
  const Problem problem = load_suite("decode").problems.front();
  const double floor_us = speed_of_light(problem, device().rates).floor_us();
  const Variant chosen = choose(problem, token_count(problem), {});
  EXPECT_GT(model(problem, name(chosen)).us, floor_us);
  EXPECT_LT(model(problem, name(chosen)).us, 1.1 * floor_us);
  EXPECT_GT(model(problem, "gpu_sm90").us, 1.5 * floor_us);
}

TEST(Model, AProblemWithoutTokensTakesItsLaunches) {
  const ModelledRun run = model(one_group(0), "gpu_sm90");
  EXPECT_EQ(run.us, run.launch_us);
  EXPECT_EQ(run.bytes, 0);
}

// The engine chooses by this model: nothing else it may choose is faster by it, in tiles.
TEST(Model, IsWhatTheEngineChoosesBy) {
  for (const char* suite : {"seeds", "dual", "decode", "experts"}) {
    for (const Problem& problem : load_suite(suite).problems) {
      const Variant chosen = choose(problem, token_count(problem), {});
      double least = span_ns(problem, name(chosen));
      for (const Variant& variant : choices()) {
        if (!supports(variant, problem, {}).ok) continue;
        least = std::min(least, span_ns(problem, name(variant)));
      }
      // Parts of tiles are worth their trouble from two hundredths on.
      EXPECT_GE(least, 0.98 * span_ns(problem, name(chosen))) << problem.name;
    }
  }
}

}  // namespace
}  // namespace thresher::gpu::sm90
