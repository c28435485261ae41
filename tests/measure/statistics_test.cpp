// SPDX-License-Identifier: Apache-2.0
#include "measure/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "gemm/random.hpp"

namespace thresher::measure {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(std::vector{3.0}), 3.0);
  EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0}), 5.0);
  EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0, 7.0}), 6.0);
}

TEST(Geomean, AveragesRatios) {
  EXPECT_DOUBLE_EQ(geomean(std::vector{2.0, 8.0}), 4.0);
  EXPECT_DOUBLE_EQ(geomean(std::vector{0.5, 2.0}), 1.0);
}

std::vector<double> one_to(int count) {
  std::vector<double> values;
  for (int i = count; i >= 1; --i) values.push_back(i);  // unsorted on purpose
  return values;
}

// Ranks and coverages as printed in tables of the sign test.
TEST(MedianInterval, TakesTheRanksOfTheSignTest) {
  const MedianInterval six = median_interval(one_to(6));
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  EXPECT_DOUBLE_EQ(six.coverage, 1 - 2.0 / 64);

  const MedianInterval ten = median_interval(one_to(10));
  EXPECT_EQ(ten.low, 2);
  EXPECT_EQ(ten.high, 9);
  EXPECT_NEAR(ten.coverage, 0.9785, 1e-4);

  const MedianInterval twenty = median_interval(one_to(20));
  EXPECT_EQ(twenty.low, 6);
  EXPECT_EQ(twenty.high, 15);
  EXPECT_NEAR(twenty.coverage, 0.9586, 1e-4);
  EXPECT_EQ(twenty.median, 10.5);
}

TEST(MedianInterval, SaysWhatFewSamplesAreWorth) {
  EXPECT_EQ(median_interval(one_to(1)).coverage, 0);
  EXPECT_EQ(median_interval(one_to(2)).coverage, 0.5);
  const MedianInterval five = median_interval(one_to(5));
  EXPECT_EQ(five.low, 1);
  EXPECT_EQ(five.high, 5);
  EXPECT_EQ(five.coverage, 0.9375);
}

TEST(MedianInterval, DoesNotUnderflowOnManySamples) {
  const MedianInterval many = median_interval(one_to(100'001));
  EXPECT_EQ(many.median, 50'001);
  EXPECT_GE(many.coverage, 0.95);
  EXPECT_LT(many.coverage, 0.955);
  EXPECT_NEAR(many.high - many.low, 2 * 1.96 * std::sqrt(100'001.0) / 2, 5);
}

TEST(MedianInterval, WidensWithTheCoverageAskedFor) {
  const std::vector<double> samples = one_to(50);
  const MedianInterval narrow = median_interval(samples, 0.5);
  const MedianInterval wide = median_interval(samples, 0.999);
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
}

// Timings look like this: a floor and a long right tail.
double draw_skewed(Random& random) {
  const double uniform = (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
  return 100 - 10 * std::log(uniform);
}
constexpr double kSkewedMedian = 100 + 10 * std::numbers::ln2;

class Coverage : public ::testing::TestWithParam<int> {};

TEST_P(Coverage, IsWhatIsStated) {
  constexpr int kTrialCount = 20'000;
  Random random(7, static_cast<std::uint64_t>(GetParam()));
  int covered_count = 0;
  double stated = 0;
  for (int trial = 0; trial < kTrialCount; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < GetParam(); ++i) samples.push_back(draw_skewed(random));
    const MedianInterval interval = median_interval(samples);
    stated = interval.coverage;
    if (interval.low <= kSkewedMedian && kSkewedMedian <= interval.high) ++covered_count;
  }
  const double measured = static_cast<double>(covered_count) / kTrialCount;
  const double sigma = std::sqrt(stated * (1 - stated) / kTrialCount);
  EXPECT_NEAR(measured, stated, 4 * sigma) << GetParam() << " samples";
}

INSTANTIATE_TEST_SUITE_P(SampleCounts, Coverage, ::testing::Values(2, 5, 6, 9, 24, 101));

}  // namespace
}  // namespace thresher::measure
