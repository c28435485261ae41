// SPDX-License-Identifier: Apache-2.0
#include "gemm/speed_of_light.hpp"

#include <gtest/gtest.h>

namespace thresher {
namespace {

constexpr MachineRates kRates{
    .read_gb_per_s = 10, .nvfp4_gop_per_s = 1000, .fp16_gop_per_s = 100, .bf16_gop_per_s = 400};

Problem one_group(Group group) {
  Problem problem;
  problem.groups = {group};
  return problem;
}

TEST(SpeedOfLight, CountsEveryByteOnce) {
  const Problem problem = one_group({.m = 2, .n = 32, .k = 64});
  EXPECT_EQ(weight_bytes(problem), 32 * 64 * 0.5625);
  EXPECT_EQ(fewest_bytes(problem), 32 * 64 * 0.5625 + 2 * 64 * 0.5625 + 2 * 32 * 2);
}

TEST(SpeedOfLight, CountsWhatTheTypesTake) {
  Problem problem = one_group({.m = 2, .n = 32, .k = 64});
  problem.activations = Activations::kBf16;
  problem.output = Output::kFp32;
  EXPECT_EQ(fewest_bytes(problem), 32 * 64 * 0.5625 + 2 * 64 * 2 + 2 * 32 * 4);
}

TEST(SpeedOfLight, DualReadsTwoMatricesAndSharesTheRest) {
  Problem problem = one_group({.m = 2, .n = 32, .k = 64});
  problem.op = Op::kDual;
  EXPECT_EQ(weight_bytes(problem), 2 * 32 * 64 * 0.5625);
  EXPECT_EQ(fewest_bytes(problem), 2 * 32 * 64 * 0.5625 + 2 * 64 * 0.5625 + 2 * 32 * 2);
}

TEST(SpeedOfLight, EmptyGroupsMoveNothing) {
  Problem problem = one_group({.m = 2, .n = 32, .k = 64});
  const double bytes = fewest_bytes(problem);
  problem.groups.push_back({.m = 0, .n = 4096, .k = 4096});
  EXPECT_EQ(fewest_bytes(problem), bytes);
  EXPECT_EQ(speed_of_light(one_group({.m = 0, .n = 64, .k = 64}), kRates).floor_us(), 0);
}

TEST(SpeedOfLight, IsTheSlowerOfMemoryAndArithmetic) {
  const SpeedOfLight few_rows = speed_of_light(one_group({.m = 1, .n = 4096, .k = 4096}), kRates);
  EXPECT_GT(few_rows.memory_us, few_rows.compute_us);
  EXPECT_EQ(few_rows.floor_us(), few_rows.memory_us);
  EXPECT_DOUBLE_EQ(few_rows.memory_us,
                   fewest_bytes(one_group({.m = 1, .n = 4096, .k = 4096})) / 10e3);

  const SpeedOfLight many_rows =
      speed_of_light(one_group({.m = 4096, .n = 4096, .k = 4096}), kRates);
  EXPECT_EQ(many_rows.floor_us(), many_rows.compute_us);
  EXPECT_DOUBLE_EQ(many_rows.compute_us, 2.0 * 4096 * 4096 * 4096 / 1000e3);
}

TEST(SpeedOfLight, RateGoesByTheActivations) {
  Problem problem = one_group({.m = 64, .n = 64, .k = 64});
  const double nvfp4_us = speed_of_light(problem, kRates).compute_us;
  problem.activations = Activations::kFp16;
  EXPECT_DOUBLE_EQ(speed_of_light(problem, kRates).compute_us, 10 * nvfp4_us);
  problem.activations = Activations::kBf16;
  EXPECT_DOUBLE_EQ(speed_of_light(problem, kRates).compute_us, 2.5 * nvfp4_us);
}

}  // namespace
}  // namespace thresher
