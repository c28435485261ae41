// SPDX-License-Identifier: Apache-2.0
// Was the machine disturbed while a row of calls was played? The rule rests on what no contestant
// can touch: how long a fixed piece of the referee's own work took while all arms were stopped, and
// the time that the host took from this machine. It is the same for both arms of a block, and it is
// applied before any ratio is looked at.
#pragma once

#include <vector>

namespace thresher::referee {

// What was seen at one row of calls.
struct RowWeather {
  double reference_ns = 0;  // the referee's own work before it; 0: none was done
  double steal_share = 0;   // of the time of all cores, during the row
};

// The reference is out of its band beyond this multiple of the heat's median.
inline constexpr double kReferenceBand = 1.5;
inline constexpr double kStealShareMax = 0.05;

// Whether each row was disturbed. If half of them or more were, that is what the machine is like
// now: there is nothing better to keep, and nothing is called disturbed.
std::vector<bool> find_disturbed(const std::vector<RowWeather>& rows);

}  // namespace thresher::referee
