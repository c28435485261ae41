// SPDX-License-Identifier: Apache-2.0
#include "referee/sequential.hpp"

#include <cmath>

#include "assert.hpp"

namespace thresher::referee {

double look_error(double error, const AnalysisOptions& options) {
  THRESHER_ASSERT(options.rounds_min >= 1 && options.rounds_max >= options.rounds_min);
  return error / (1 + 3 * std::log(static_cast<double>(options.rounds_max) / options.rounds_min));
}

double log_likelihood_ratio(const RoundMean& gain, double log_speedup_asked,
                            const AnalysisOptions& options) {
  if (gain.count < 2 || log_speedup_asked <= 0) return 0;
  const double df = gain.count - 1;
  const double variance = (df * gain.sd * gain.sd + options.prior_weight * options.prior_variance) /
                          (df + options.prior_weight);
  return gain.count * log_speedup_asked * (2 * gain.mean - log_speedup_asked) / (2 * variance);
}

}  // namespace thresher::referee
