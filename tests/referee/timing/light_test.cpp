// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/light.hpp"

#include <gtest/gtest.h>

#include "support/scene.hpp"

namespace thresher::referee {
namespace {

const MachineRates kRates{
    .read_gb_per_s = 10, .nvfp4_gop_per_s = 1000, .fp16_gop_per_s = 100, .bf16_gop_per_s = 100};
// 2^20 weights of 0.5625 bytes at 10 GB/s take 59 us, 2 * 2^20 operations at 1000 GOP/s 2.1 us.
const Problem kProblem = thresher::testing::make_problem({1}, 1024, 1024);

TEST(Light, AccusesHalfTheFloorAndNoMore) {
  const Light light(kRates, true);
  const double floor_ns = light.floor_ns(kProblem);
  EXPECT_NEAR(floor_ns, 59e3, 2e3);
  EXPECT_FALSE(light.check(kProblem, floor_ns));
  EXPECT_FALSE(light.check(kProblem, 0.51 * floor_ns));
  const std::optional<Fault> fault = light.check(kProblem, 0.49 * floor_ns);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, VerdictKind::kInvalid);
  EXPECT_EQ(fault->check, check::kSpeedOfLight);
}

TEST(Light, WarmCachesLeaveOnlyTheRate) {
  EXPECT_NEAR(Light(kRates, false).floor_ns(kProblem), 2.1e3, 0.1e3);
}

TEST(Light, MeasuresOncePerProcess) {
  const Engine engine({.thread_count = 1});
  const Light first(rates_once(engine), true);
  const Light second(rates_once(engine), true);
  EXPECT_GT(first.floor_ns(kProblem), 0);
  EXPECT_EQ(first.floor_ns(kProblem), second.floor_ns(kProblem));
}

}  // namespace
}  // namespace thresher::referee
