// SPDX-License-Identifier: Apache-2.0
// The machine model of the GPU on problems whose tiles can be counted by hand.
#include "tank/gpu_model.hpp"

#include <gtest/gtest.h>

#include "gemm/suite.hpp"

namespace thresher {
namespace {

// 132 SMs; a byte takes as long as 250 operations, as on an H200.
Machine device() {
  return {.rates = {.read_gb_per_s = 4000,
                    .nvfp4_gop_per_s = 800000,
                    .fp16_gop_per_s = 800000,
                    .bf16_gop_per_s = 800000},
          .thread_count = 1,
          .limits = {}};
}

ModelledRun model(const Problem& problem, std::string_view variant) {
  const std::optional<ModelledRun> run = modelled_run(problem, variant, device());
  EXPECT_TRUE(run) << variant;
  return run.value_or(ModelledRun{});
}

Problem one_group(std::int64_t m, std::int64_t n = 4096, std::int64_t k = 4096) {
  return {.name = "p", .groups = {{.m = m, .n = n, .k = k}}};
}

Problem dual_of(Problem problem) {
  problem.op = Op::kDual;
  return problem;
}

TEST(GpuModel, TokensArePaddedToWholeTiles) {
  EXPECT_NEAR(model(one_group(176), "gpu_sm90").work, 256.0 / 176, 1e-9);
  EXPECT_NEAR(model(one_group(176), "gpu_sm90:tokens=64").work, 192.0 / 176, 1e-9);
  EXPECT_NEAR(model(one_group(128), "gpu_sm90").work, 1, 1e-9);
}

TEST(GpuModel, FewTokensAreBoundByDecoding) {
  // Multiplying by 16 tokens is done before the next weights are decoded; by 64 it is not.
  const double small = model(one_group(16), "gpu_sm90:tokens=16,stages=6").work;
  EXPECT_NEAR(small, 32.0 / 16, 1e-9);
  EXPECT_NEAR(model(one_group(8), "gpu_sm90:tokens=8").work, 32.0 / 8, 1e-9);
  EXPECT_NEAR(model(one_group(64), "gpu_sm90:tokens=64").work, 1, 1e-9);
}

TEST(GpuModel, ThePlainKernelDecodesAndMultipliesInTurn) {
  EXPECT_NEAR(model(one_group(128), "gpu_sm90:kernel=plain").work, (128.0 + 32) / 128, 1e-9);
  EXPECT_GT(model(one_group(128), "gpu_sm90:kernel=plain").us,
            model(one_group(128), "gpu_sm90").us);
}

TEST(GpuModel, TilesComeInWaves) {
  // 32 tiles on 132 SMs, and 160: one whole wave, and one of 28.
  EXPECT_NEAR(model(one_group(128), "gpu_sm90").balance, 32.0 / 132, 1e-9);
  EXPECT_NEAR(model(one_group(640), "gpu_sm90").balance, 160.0 / 264, 1e-9);
  EXPECT_NEAR(model(one_group(640), "gpu_sm90:schedule=balanced").balance, 1, 1e-9);
}

TEST(GpuModel, SplitKFindsWorkForIdleSms) {
  const ModelledRun whole = model(one_group(128), "gpu_sm90");
  const ModelledRun split = model(one_group(128), "gpu_sm90:split_k=4");
  EXPECT_NEAR(split.balance, 4 * whole.balance, 1e-9);
  EXPECT_LT(split.us, whole.us);
  // Each of 128 parts has 128 x 128 floats, written and read.
  EXPECT_NEAR(split.bytes - whole.bytes, 2.0 * 128 * 128 * 128 * 4, 1e-6);
  EXPECT_NEAR(split.work, whole.work, 1e-9);
}

TEST(GpuModel, GroupsInTurnLeaveSmsIdle) {
  const Problem problem{.name = "p", .groups = {{128, 4096, 4096}, {128, 4096, 4096}}};
  const ModelledRun in_turn = model(problem, "gpu_sm90:launches=per_group");
  const ModelledRun streams = model(problem, "gpu_sm90:launches=streams");
  const ModelledRun grouped = model(problem, "gpu_sm90");
  EXPECT_NEAR(in_turn.balance, 32.0 / 132, 1e-9);
  EXPECT_NEAR(streams.balance, 64.0 / 132, 1e-9);
  EXPECT_NEAR(grouped.balance, 64.0 / 132, 1e-9);
  EXPECT_NEAR(in_turn.launch_us, 2 * grouped.launch_us, 1e-9);
  EXPECT_NEAR(streams.launch_us, in_turn.launch_us, 1e-9);
  EXPECT_LT(grouped.us, streams.us);
  EXPECT_LT(streams.us, in_turn.us);
}

TEST(GpuModel, AGraphLaunchesForLess) {
  const ModelledRun eager = model(one_group(128), "gpu_sm90");
  const ModelledRun graph = model(one_group(128), "gpu_sm90:graph=on");
  EXPECT_LT(graph.launch_us, eager.launch_us);
  EXPECT_NEAR(eager.us - graph.us, eager.launch_us - graph.launch_us, 1e-9);
}

TEST(GpuModel, TwoPassesReadWeightsTwiceAndKeepGates) {
  const Problem problem = dual_of(one_group(256));
  const ModelledRun fused = model(problem, "gpu_sm90:warpgroups=1");
  const ModelledRun passes = model(problem, "gpu_sm90:warpgroups=1,dual=two_pass");
  const double weights = 2.0 * 4096 * 4096 * 0.5625;
  const double gates = 2.0 * 256 * 4096 * 4;
  EXPECT_NEAR(passes.bytes - fused.bytes, weights + gates, 1e-6);
  EXPECT_NEAR(passes.work, fused.work, 1e-9);
  EXPECT_NEAR(passes.launch_us, 2 * fused.launch_us, 1e-9);
}

TEST(GpuModel, TheProloguesImagesCountAsBytes) {
  // Beyond the fewest bytes: activations once more as 16-bit images of whole tiles.
  const Problem problem = one_group(176);
  EXPECT_NEAR(model(problem, "gpu_sm90").bytes - fewest_bytes(problem), 256.0 * 4096 * 2, 1e-6);
}

TEST(GpuModel, DecodingIsBoundByMemory) {
  // One token for each of eight experts, small tiles, all in one launch: next to the floor.
  const Problem problem = load_suite("decode").problems.front();
  const double floor_us = speed_of_light(problem, device().rates).floor_us();
  const ModelledRun run = model(problem, "gpu_sm90:tokens=8,stages=6");
  EXPECT_GT(run.us, floor_us);
  EXPECT_LT(run.us, 1.2 * floor_us);
  EXPECT_GT(model(problem, "gpu_sm90").us, 2 * floor_us);
}

TEST(GpuModel, AProblemWithoutTokensTakesItsLaunches) {
  const ModelledRun run = model(one_group(0), "gpu_sm90");
  EXPECT_EQ(run.us, run.launch_us);
  EXPECT_EQ(run.bytes, 0);
}

TEST(GpuModel, KnowsWhatCannotRun) {
  EXPECT_FALSE(modelled_run(one_group(128), "gpu_sm90:tokens=256,stages=8", device()));
}

}  // namespace
}  // namespace thresher
