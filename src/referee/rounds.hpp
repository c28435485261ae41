// SPDX-License-Identifier: Apache-2.0
// One process round of the timing: fresh processes for the champion, its copy and the challenger,
// ABBA blocks in random order, every timed call checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "referee/contest.hpp"
#include "referee/samples.hpp"

namespace thresher::referee {

// The slowed arm of the controls takes this much longer than the champion.
inline constexpr double kSlowedShare = 0.1;

struct Round {
  RoundSamples samples;
  std::optional<Fault> fault;  // the challenger's; the samples are worthless then
  bool out_of_time = false;    // so are they then
  double champion_prepare_seconds = 0;
  double challenger_prepare_seconds = 0;
};

// Throws Error when the champion fails: there is nothing to compare with.
Round play_round(const Contest& contest, std::uint64_t seed, Clock::time_point deadline);

}  // namespace thresher::referee
