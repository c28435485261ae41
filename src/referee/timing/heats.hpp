// SPDX-License-Identifier: Apache-2.0
// The heats of the timing: in each of them fresh processes for the champion, its copy and the
// challenger, ABBA blocks in random order, every timed call checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "referee/statistics/verdict.hpp"
#include "referee/timing/sampler.hpp"

namespace thresher::referee {

// The slowed arm of the controls takes this much longer than the champion.
inline constexpr double kSlowedShare = 0.1;

// Where the time of a heat went.
struct HeatSeconds {
  double inputs = 0;   // putting weights and processes in place
  double start = 0;    // until all processes have answered
  double prepare = 0;  // packing, of all arms
  double warm_up = 0;
  double timing = 0;  // with all checks of timed calls
  double end = 0;     // ending the processes, looking at the weights again

  double all() const { return inputs + start + prepare + warm_up + timing + end; }
};

struct Heat {
  HeatSamples samples;
  std::optional<Fault> fault;  // the challenger's; the samples are worthless then
  bool out_of_time = false;    // so are they then
  double champion_prepare_seconds = 0;
  double challenger_prepare_seconds = 0;
  HeatSeconds seconds;
};

class Heats {
 public:
  // The contest must outlive them.
  Heats(const Contest& contest, std::uint64_t seed);

  // Throws Error when the champion fails: there is nothing to compare with.
  Heat play(std::uint64_t seed, Clock::time_point deadline);

 private:
  const Contest& contest_;
  const Samplers samplers_;
};

}  // namespace thresher::referee
