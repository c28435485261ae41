// SPDX-License-Identifier: Apache-2.0
// The instrument: entrants take turns at one problem in one process, so that whatever the machine
// does in the meantime happens to all of them. docs/measuring.md says why each step is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/clock.hpp"
#include "measure/statistics.hpp"
#include "measure/witness.hpp"

namespace thresher::measure {

struct Timing {
  std::string name;
  MedianInterval us;
  std::int64_t sample_count = 0;
  double max_error_over_bound = 0;
  TimedApart apart;
  std::string first_failure;  // of the arithmetic contract
};

struct SeriesOptions {
  double seconds = 3;
  std::uint64_t seed = 1;
  std::size_t copy_count = 1;
};

// Says whether what an entrant's last call on a copy left behind is right.
using Judge = std::function<Conformance(const Entrant& entrant, std::size_t copy)>;
// A witness that has testified of natural inputs, which every entrant computes with.
Judge by_witness(const Witness& witness);

// One Timing per entrant, in their order.
std::vector<Timing> play_series(Clock& clock, const std::vector<Entrant>& entrants,
                                const Judge& judge, const SeriesOptions& options);

}  // namespace thresher::measure
