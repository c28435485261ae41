// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/light.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/scene.hpp"

namespace thresher::referee {
namespace {

const MachineRates kRates{
    .read_gb_per_s = 10, .nvfp4_gop_per_s = 1000, .fp16_gop_per_s = 100, .bf16_gop_per_s = 100};
// 2^20 weights of 0.5625 bytes at 10 GB/s take 59 us, 2 * 2^20 operations at 1000 GOP/s 2.1 us.
const Problem kProblem = thresher::testing::make_problem({1}, 1024, 1024);

MachineRates times(double factor) {
  MachineRates rates = kRates;
  for (double* rate : {&rates.read_gb_per_s, &rates.nvfp4_gop_per_s, &rates.fp16_gop_per_s,
                       &rates.bf16_gop_per_s}) {
    *rate *= factor;
  }
  return rates;
}

Light light_that_measures(double factor, bool cold = true) {
  return {kRates, cold, [factor] { return times(factor); }};
}

TEST(Light, AccusesHalfTheFloorAndNoMore) {
  Light light = light_that_measures(1);
  const double floor_ns = light.floor_ns(kProblem);
  EXPECT_NEAR(floor_ns, 59e3, 2e3);
  EXPECT_FALSE(light.check(kProblem, floor_ns));
  EXPECT_FALSE(light.check(kProblem, 0.51 * floor_ns));
  const std::optional<Fault> fault = light.check(kProblem, 0.49 * floor_ns);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, VerdictKind::kInvalid);
  EXPECT_EQ(fault->check, check::kSpeedOfLight);
  EXPECT_NE(fault->reason.find("measured again 3 times"), std::string::npos) << fault->reason;
}

// Ceilings taken under load: the machine can do twice as much when asked again.
TEST(Light, MeasuresAgainBeforeItAccuses) {
  Light light = light_that_measures(2);
  const double floor_ns = light.floor_ns(kProblem);
  EXPECT_FALSE(light.check(kProblem, 0.3 * floor_ns));
  EXPECT_NEAR(light.floor_ns(kProblem), floor_ns / 2, 1);
  // The two measurements are a factor of 2 apart: that is what is not known about the ceiling.
  EXPECT_FALSE(light_that_measures(2).check(kProblem, 0.13 * floor_ns));
  EXPECT_TRUE(light_that_measures(2).check(kProblem, 0.12 * floor_ns));
}

TEST(Light, DoesNotMeasureWhereNothingIsSuspect) {
  Light light(kRates, true, []() -> MachineRates {
    ADD_FAILURE() << "measured";
    return kRates;
  });
  EXPECT_FALSE(light.check(kProblem, 60e3));
}

TEST(Light, BelievesNoCeilingThatOurEngineHasPassed) {
  Light light = light_that_measures(1);
  const double floor_ns = light.floor_ns(kProblem);
  light.has_been_reached(kProblem, 0.4 * floor_ns);
  EXPECT_FALSE(light.check(kProblem, 0.3 * floor_ns));
  EXPECT_TRUE(light.check(kProblem, 0.05 * floor_ns));
}

TEST(Light, WarmCachesLeaveOnlyTheRate) {
  EXPECT_NEAR(light_that_measures(1, false).floor_ns(kProblem), 2.1e3, 0.1e3);
}

TEST(Light, MeasuresOncePerProcessUnlessAskedAgain) {
  const Engine engine({.thread_count = 1});
  const MachineRates first = rates_once(engine);
  EXPECT_GT(first.read_gb_per_s, 0);
  EXPECT_EQ(first.read_gb_per_s, rates_once(engine).read_gb_per_s);
  const MachineRates again = rates_again(engine);
  EXPECT_EQ(rates_once(engine).read_gb_per_s, std::max(first.read_gb_per_s, again.read_gb_per_s));
}

}  // namespace
}  // namespace thresher::referee
