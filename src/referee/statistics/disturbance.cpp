// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/disturbance.hpp"

#include <cstddef>

#include "measure/statistics.hpp"

namespace thresher::referee {
namespace {

double median_reference_ns(const std::vector<RowWeather>& rows) {
  std::vector<double> references;
  for (const RowWeather& row : rows) references.push_back(row.reference_ns);
  return measure::median(references);
}

}  // namespace

std::vector<bool> find_disturbed(const std::vector<RowWeather>& rows) {
  std::vector<bool> disturbed(rows.size(), false);
  if (rows.empty()) return disturbed;
  const double band = kReferenceBand * median_reference_ns(rows);
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    disturbed[i] = rows[i].reference_ns > band || rows[i].steal_share > kStealShareMax;
    count += disturbed[i] ? 1 : 0;
  }
  if (2 * count >= rows.size()) disturbed.assign(rows.size(), false);
  return disturbed;
}

}  // namespace thresher::referee
