// SPDX-License-Identifier: Apache-2.0
#include "cli/ceiling_doubt.hpp"

#include <fmt/format.h>

#include <utility>

#include "gemm/speed_of_light.hpp"

namespace thresher::cli {
namespace {

constexpr int kTryCount = 3;

double floor_us(const Problem& problem, const backend::Ceilings& ceilings) {
  return speed_of_light(problem, ceilings.rates).floor_us();
}

}  // namespace

backend::Ceilings believable_ceilings(backend::Ceilings before, const Problem& problem, double us,
                                      const std::function<backend::Ceilings()>& measure_again) {
  backend::Ceilings best = std::move(before);
  for (int i = 0; i < kTryCount && floor_us(problem, best) > us; ++i) {
    backend::Ceilings again = measure_again();
    if (floor_us(problem, again) < floor_us(problem, best)) best = std::move(again);
  }
  return best;
}

std::string share_text(double share) { return share > 1 ? ">1" : fmt::format("{:.2f}", share); }

}  // namespace thresher::cli
