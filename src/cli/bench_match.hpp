// SPDX-License-Identifier: Apache-2.0
// Contestants take turns at one problem in one process, so that whatever the machine does in the
// meantime happens to all of them. docs/measuring.md says why each step is there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/guarded_outputs.hpp"
#include "gemm/inputs.hpp"
#include "referee/statistics/statistics.hpp"
#include "thresher/problem.hpp"

namespace thresher::cli {

struct Contestant {
  std::string name;
  Problem problem;  // as this contestant computes it: a peer may write another output type
  std::function<void()> run;
  GuardedOutputs* outputs = nullptr;
};

struct Timing {
  std::string name;
  referee::MedianInterval us;
  std::int64_t sample_count = 0;
  double max_error_over_bound = 0;
  std::string first_failure;  // of the arithmetic contract, in a timed call
};

struct MatchOptions {
  double seconds = 3;
  std::uint64_t seed = 1;
};

// One Timing per contestant, in their order.
std::vector<Timing> play_match(const std::vector<Contestant>& contestants, const Inputs& inputs,
                               MatchOptions options);

}  // namespace thresher::cli
