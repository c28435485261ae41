// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/distributions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace thresher::referee {
namespace {

TEST(Normal, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
  EXPECT_NEAR(normal_quantile(0.9), 1.2815515655446004, 1e-13);
  EXPECT_NEAR(normal_quantile(0.95), 1.6448536269514722, 1e-13);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-13);
  EXPECT_NEAR(normal_quantile(0.999), 3.090232306167814, 1e-13);
  EXPECT_NEAR(normal_quantile(1e-9), -5.997807015007685, 1e-12);
  EXPECT_NEAR(normal_quantile(1e-20), -9.262340089798408, 1e-12);
}

TEST(Normal, QuantileUndoesTheCdfOnAllRangesOfTheApproximation) {
  for (double x = -30; x <= 6; x += 0.37) EXPECT_NEAR(normal_quantile(normal_cdf(x)), x, 1e-8) << x;
}

TEST(Normal, CdfKeepsItsDigitsInTheTail) {
  EXPECT_DOUBLE_EQ(normal_cdf(0), 0.5);
  EXPECT_NEAR(normal_cdf(1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(normal_cdf(-10) / 7.619853024160526e-24, 1, 1e-12);
}

TEST(StudentT, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706204736174694, 1e-10);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.302652729749462, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.95, 4), 2.131846786326649, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.7764451051977934, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.995, 4), 4.604094871349993, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.9, 9), 1.3830287383964925, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.95, 14), 1.7613101357748564, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.975, 100), 1.983971518523552, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.9995, 3), 12.923978636687485, 1e-9);
  EXPECT_EQ(student_t_quantile(0.5, 4), 0);
}

// One and two degrees of freedom have closed forms.
TEST(StudentT, CdfIsTheClosedForm) {
  for (const double t : {-50.0, -3.0, -0.5, -1e-6, 0.0, 1e-6, 0.7, 2.0, 9.0, 400.0}) {
    EXPECT_NEAR(student_t_cdf(t, 1), 0.5 + std::atan(t) / std::numbers::pi, 1e-14) << t;
    EXPECT_NEAR(student_t_cdf(t, 2), 0.5 + t / (2 * std::sqrt(2 + t * t)), 1e-14) << t;
  }
}

TEST(StudentT, QuantileUndoesTheCdf) {
  for (const double df : {1.0, 2.0, 3.0, 4.0, 7.5, 14.0, 59.0, 1000.0}) {
    for (const double p : {1e-6, 0.004, 0.05, 0.3, 0.5, 0.50001, 0.8, 0.95, 0.996, 0.99999}) {
      EXPECT_NEAR(student_t_cdf(student_t_quantile(p, df), df), p, 1e-11) << df << ' ' << p;
    }
  }
}

TEST(StudentT, BecomesNormal) {
  EXPECT_NEAR(student_t_quantile(0.975, 1e6), normal_quantile(0.975), 1e-5);
}

TEST(Distributions, TailsOfTheBinomial) {
  EXPECT_NEAR(binomial_tail(0, 20, 0.05), 1, 1e-12);
  EXPECT_NEAR(binomial_tail(1, 20, 0.05), 1 - std::pow(0.95, 20), 1e-12);
  EXPECT_NEAR(binomial_tail(20, 20, 0.5), std::pow(0.5, 20), 1e-15);
  EXPECT_NEAR(binomial_tail(2, 3, 0.25), 3 * 0.0625 * 0.75 + 0.015625, 1e-12);
  EXPECT_EQ(binomial_tail(1, 0, 0.05), 0);
}

}  // namespace
}  // namespace thresher::referee
