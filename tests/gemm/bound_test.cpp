// SPDX-License-Identifier: Apache-2.0
// The bound holds what honest arithmetic can do, and not much more.
#include "gemm/bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "gemm/fp32_model.hpp"
#include "gemm/random.hpp"

namespace thresher {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ExactSum exact(const std::vector<float>& terms) {
  ExactSum sum;
  for (const float term : terms) {
    sum.value += term;
    sum.magnitude += std::abs(term);
  }
  return sum;
}

TEST(Bound, HoldsTheWorstSummationAndIsNotVacuous) {
  // Each small term is just under half an ulp of the sum so far and is lost.
  for (const std::size_t k : {16, 1024, 65536}) {
    std::vector<float> terms(k, 0x1.fffffep-26f);
    terms[0] = 1;
    const ExactSum sum = exact(terms);
    const double error = std::abs(fp32_sum(terms, Order::kForwards) - sum.value);
    const double bound = sum_error(sum, static_cast<std::int64_t>(k));
    EXPECT_LE(error, bound) << k;
    EXPECT_GE(error, bound / 8) << k;
  }
}

TEST(Bound, GrowsWithTermsAndMagnitude) {
  const ExactSum sum{.value = 1, .magnitude = 3, .factor = 1};
  EXPECT_NEAR(sum_error(sum, 16), 24 * 0x1p-24 * 3, 1e-30);
  EXPECT_NEAR(sum_error(sum, 4096), 4104 * 0x1p-24 * 3, 1e-30);
  EXPECT_EQ(sum_error({}, 16), 24 * 0x1p-126 * 2691);
}

TEST(Bound, ForgivesFlushedSubnormals) {
  // A bf16 subnormal times the largest weight, once kept and once flushed to zero.
  const double term = 0x1.fcp-127 * 2688;
  const ExactSum sum{.value = 16 * term, .magnitude = 16 * term, .factor = 1};
  EXPECT_GE(sum_error(sum, 16), 16 * term);
  // An fp16 result has no use for that: its least value is far above.
  EXPECT_LT(sum_error({}, kExtentMax), 0x1p-25);
}

TEST(Bound, AddsHalfAnUlpOfTheOutput) {
  EXPECT_EQ(bound_after_rounding(1.5, 0, Output::kFp16), 0x1p-11);
  EXPECT_EQ(bound_after_rounding(-1.5, 0, Output::kBf16), 0x1p-8);
  EXPECT_EQ(bound_after_rounding(1.5, 0, Output::kFp32), 0x1p-24);
  // A result may end up in the next binade, where ulps are twice as large.
  EXPECT_EQ(bound_after_rounding(1.75, 0.25, Output::kFp16), 0.25 + 0x1p-10);
  // Subnormals share one ulp, and so do the values near overflow and beyond.
  EXPECT_EQ(bound_after_rounding(0, 0, Output::kFp16), 0x1p-25);
  EXPECT_EQ(bound_after_rounding(0x1p-20, 0, Output::kFp16), 0x1p-25);
  EXPECT_EQ(bound_after_rounding(0, 0, Output::kBf16), 0x1p-134);
  EXPECT_EQ(bound_after_rounding(0, 0, Output::kFp32), 0x1p-150);
  EXPECT_EQ(bound_after_rounding(65504, 0, Output::kFp16), 16);
  EXPECT_EQ(bound_after_rounding(1e9, 0, Output::kFp16), 16);
}

TEST(Bound, HoldsEveryRounding) {
  Random random(7);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::ldexp(1 + std::ldexp(static_cast<double>(random.next() >> 12), -52),
                                    random.between(-40, 16));
    for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
      const double result = output_value(round_to_output(value, output), output);
      ASSERT_LE(distance(result, value, output), bound_after_rounding(value, 0, output)) << value;
    }
  }
}

bool accepts(double result, double value, double error, Output output) {
  return distance(result, value, output) <= bound_after_rounding(value, error, output);
}

TEST(Bound, JudgesResultsNearOverflow) {
  EXPECT_TRUE(accepts(65504, 65504, 0, Output::kFp16));
  EXPECT_FALSE(accepts(kInfinity, 65504, 0, Output::kFp16));
  EXPECT_TRUE(accepts(65504, 65519, 0, Output::kFp16));
  EXPECT_FALSE(accepts(kInfinity, 65519, 0, Output::kFp16));
  EXPECT_TRUE(accepts(kInfinity, 65519, 2, Output::kFp16));
  EXPECT_TRUE(accepts(kInfinity, 65521, 0, Output::kFp16));
  EXPECT_FALSE(accepts(65504, 65521, 0, Output::kFp16));
  EXPECT_TRUE(accepts(65504, 65521, 2, Output::kFp16));
  EXPECT_TRUE(accepts(kInfinity, 70000, 0, Output::kFp16));
  EXPECT_FALSE(accepts(65504, 70000, 4000, Output::kFp16));
  EXPECT_FALSE(accepts(-kInfinity, 70000, 0, Output::kFp16));
  EXPECT_TRUE(accepts(-kInfinity, -1e30, 0, Output::kFp16));
  EXPECT_FALSE(accepts(kInfinity, 70000, 0, Output::kBf16));
  EXPECT_TRUE(accepts(kInfinity, 0x1p128, 0, Output::kBf16));
  EXPECT_TRUE(accepts(kInfinity, 0x1p128, 0, Output::kFp32));
}

TEST(Bound, NeverAcceptsNan) {
  EXPECT_EQ(distance(std::nan(""), 1, Output::kFp32), kInfinity);
  EXPECT_EQ(distance(1, std::nan(""), Output::kFp32), kInfinity);
  EXPECT_FALSE(accepts(std::nan(""), 1, 1e30, Output::kFp32));
}

TEST(Bound, SiluIsNeverSteeperThanAssumed) {
  for (double x = -40; x < 40; x += 1.0 / 64) {
    EXPECT_LE(std::abs(silu(x + 1e-6) - silu(x - 1e-6)) / 2e-6, 1.1) << x;
  }
}

TEST(Bound, SiluHasItsLimits) {
  EXPECT_EQ(silu(0), 0);
  EXPECT_NEAR(silu(2), 1.7615941559557649, 1e-15);
  EXPECT_EQ(silu(1000), 1000);
  EXPECT_EQ(silu(-1000), 0);
}

TEST(Bound, HoldsFp32SiluTimesUp) {
  for (double gate = -120; gate < 100; gate += 1.0 / 32) {
    const auto gate32 = static_cast<float>(gate);
    for (const float up : {0.0f, 1e-3f, -1.0f, 77.7f, 3e4f}) {
      const double error = dual_error({.gate = gate32, .gate_error = 0, .up = up, .up_error = 0});
      const float result = fp32_silu(gate32) * up;
      ASSERT_LE(std::abs(result - silu(gate32) * up), error) << gate << ' ' << up;
    }
  }
}

TEST(Bound, HoldsErrorsOfGateAndUp) {
  Random random(11);
  const auto draw = [&] { return random.between(-1000, 1000) / 50.0; };
  for (int i = 0; i < 100000; ++i) {
    const DualSums sums{.gate = draw(),
                        .gate_error = std::abs(draw()) / 50,
                        .up = draw(),
                        .up_error = std::abs(draw()) / 50};
    const double gate = sums.gate + sums.gate_error * random.between(-1, 1);
    const double up = sums.up + sums.up_error * random.between(-1, 1);
    ASSERT_LE(std::abs(silu(gate) * up - silu(sums.gate) * sums.up), dual_error(sums))
        << sums.gate << " +- " << sums.gate_error << ", " << sums.up << " +- " << sums.up_error;
  }
}

}  // namespace
}  // namespace thresher
