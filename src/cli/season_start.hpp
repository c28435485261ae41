// SPDX-License-Identifier: Apache-2.0
// How a season begins on this machine: what the device can do, and where the champion's time goes.
#pragma once

#include <string>
#include <vector>

#include "tank/season/season.hpp"

namespace thresher::cli {

// Fills in what is measured before the first round: rates, the champion's times, the environment.
void measure_device(SeasonSetup& setup);

// Where the champion's time goes, one sentence per problem.
std::vector<std::string> findings_on(const Contestant& champion, const SeasonRules& rules,
                                     const MachineRates& rates);

}  // namespace thresher::cli
