// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/looks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gemm/random.hpp"
#include "referee/statistics/distributions.hpp"

namespace thresher::referee {
namespace {

TEST(LookError, IsTheWholeErrorForASingleLook) {
  EXPECT_DOUBLE_EQ(look_error(0.05, {.rounds_min = 8, .rounds_max = 8}), 0.05);
}

TEST(LookError, ShrinksWithTheRangeOfLooks) {
  EXPECT_DOUBLE_EQ(look_error(0.05, {.rounds_min = 5, .rounds_max = 15}),
                   0.05 / (1 + 3 * std::log(3)));
}

// How often t-tests of pure noise after every round find something, at this error per look.
double error_of_all_looks(const AnalysisOptions& options, double error_per_look, int trial_count) {
  std::vector<double> critical(static_cast<std::size_t>(options.rounds_max) + 1);
  for (int n = options.rounds_min; n <= options.rounds_max; ++n) {
    critical[static_cast<std::size_t>(n)] = student_t_quantile(1 - error_per_look, n - 1);
  }
  Random random(7);
  int found = 0;
  for (int trial = 0; trial < trial_count; ++trial) {
    double sum = 0;
    double squares = 0;
    for (int n = 1; n <= options.rounds_max; ++n) {
      const double uniform = (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
      const double value = normal_quantile(uniform);
      sum += value;
      squares += value * value;
      if (n < options.rounds_min) continue;
      const double variance = (squares - sum * sum / n) / (n - 1);
      if (sum / std::sqrt(n * variance) <= critical[static_cast<std::size_t>(n)]) continue;
      ++found;
      break;
    }
  }
  return static_cast<double>(found) / trial_count;
}

TEST(LookError, HoldsTheErrorOfAllLooksTogether) {
  constexpr int kTrials = 20000;
  const double margin = 3 * std::sqrt(0.05 * 0.95 / kTrials);
  for (const auto& [first, last] :
       {std::pair{5, 15}, {3, 15}, {2, 15}, {5, 6}, {10, 40}, {4, 60}}) {
    const AnalysisOptions options{.rounds_min = first, .rounds_max = last};
    const double error = error_of_all_looks(options, look_error(0.05, options), kTrials);
    EXPECT_LT(error, 0.048 + margin) << first << ".." << last;
    EXPECT_GT(error, 0.040 - margin) << first << ".." << last;  // nothing is given away either
  }
}

TEST(LookError, WithoutItLooksWouldTripleTheError) {
  const AnalysisOptions options{.rounds_min = 5, .rounds_max = 15};
  EXPECT_GT(error_of_all_looks(options, 0.05, 5000), 0.12);
}

}  // namespace
}  // namespace thresher::referee
