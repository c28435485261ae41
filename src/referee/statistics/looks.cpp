// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/looks.hpp"

#include <cmath>

#include "assert.hpp"

namespace thresher::referee {

double look_error(double error, const AnalysisOptions& options) {
  THRESHER_ASSERT(options.rounds_min >= 1 && options.rounds_max >= options.rounds_min);
  return error / (1 + 3 * std::log(static_cast<double>(options.rounds_max) / options.rounds_min));
}

}  // namespace thresher::referee
