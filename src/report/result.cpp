// SPDX-License-Identifier: Apache-2.0
#include "report/result.hpp"

#include "report/values.hpp"

namespace thresher::report {

Html result_of(const LedgerEntry* verdict) {
  if (verdict == nullptr) return "not built";
  const nlohmann::json& estimate = field(verdict->data, "speedup");
  const Ratio ratio = ratio_of(estimate);
  if (!ratio.is_known()) return "no time";
  if (is_measured(*verdict)) return speedup(ratio);
  Html result = speedup(ratio.middle()) + " " + source_badge(verdict->source);
  // What was reported has a range at best, and no brackets: those mean a confidence interval.
  if (ratio.low && ratio.high) {
    result += element("div", speedup(ratio.low) + " to " + speedup(ratio.high) + " " +
                                 text_of(estimate, "range"));
  }
  return result;
}

}  // namespace thresher::report
