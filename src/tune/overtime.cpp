// SPDX-License-Identifier: Apache-2.0
#include "tune/overtime.hpp"

#include <algorithm>
#include <limits>

namespace thresher::tune {
namespace {

// A stretch has its gates to pass before the first heat.
constexpr double kStretchSecondsMin = 2;

std::size_t heat_count(const Ruling& ruling) {
  return ruling.open ? ruling.open->samples.heats.size() : 0;
}

int heats_needed(const Ruling& ruling) {
  const int known = ruling.open->more_heats_needed;
  return known > 0 ? known : std::numeric_limits<int>::max();
}

}  // namespace

void play_overtime(std::vector<Ruling>& rulings, const std::function<double()>& seconds_left,
                   const std::function<Ruling(std::size_t index, double seconds)>& play_on) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < rulings.size(); ++i) {
    if (rulings[i].open) open.push_back(i);
  }
  while (!open.empty()) {
    std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
      return heats_needed(rulings[a]) < heats_needed(rulings[b]);
    });
    std::vector<std::size_t> still_open;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const double share = seconds_left() / static_cast<double>(open.size() - k);
      if (share < kStretchSecondsMin) return;
      Ruling& ruling = rulings[open[k]];
      const std::size_t before = heat_count(ruling);
      ruling = play_on(open[k], share);
      if (heat_count(ruling) > before) still_open.push_back(open[k]);
    }
    open = std::move(still_open);
  }
}

}  // namespace thresher::tune
