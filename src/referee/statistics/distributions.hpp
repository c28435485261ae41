// SPDX-License-Identifier: Apache-2.0
// The distributions the referee's intervals come from, to about twelve digits. Probabilities run
// from 0 to 1, both excluded where a quantile is asked for.
#pragma once

namespace thresher::referee {

double normal_cdf(double x);
double normal_quantile(double probability);
inline constexpr double kNormalQuantile90 = 1.2815515655446004;
inline constexpr double kNormalQuantile975 = 1.959963984540054;

// Student's t. Degrees of freedom need not be whole, but must be positive.
double student_t_cdf(double t, double degrees_of_freedom);
double student_t_quantile(double probability, double degrees_of_freedom);

// How likely so many successes or more are in `trial_count` independent trials.
double binomial_tail(int success_count, int trial_count, double probability);

}  // namespace thresher::referee
