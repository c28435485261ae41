// SPDX-License-Identifier: Apache-2.0
// Finds a problem's fastest variant on a machine: the search proposes, candidates race against the
// best so far on the instrument that `bench` uses, and the referee decides at the end whether the
// winner may replace the engine's own choice.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gemm/speed_of_light.hpp"
#include "referee/match.hpp"
#include "thresher/engine.hpp"

namespace thresher::tune {

struct TuneOptions {
  double seconds = 60;     // for all of it, the referee's part too
  std::uint64_t seed = 1;  // of the search; times are the machine's
  MachineRates rates;      // for the model of time: what the engine's device can do
  DealTerms terms;
  MatchOptions match;  // its seconds_max is set here
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// The best found so far, over time.
struct TracePoint {
  double seconds = 0;
  std::size_t tried_count = 0;
  double speedup = 1;  // over the engine's choice, as raced
};

struct TuneResult {
  std::string choice;   // the engine's
  std::string variant;  // the best found, or the choice
  double raced_speedup = 1;
  bool accepted = false;  // by the referee, against the choice
  std::string reason;     // in words, whatever happened
  Estimate speedup;       // of the match; 1 where there was none
  std::size_t space_size = 0;
  std::size_t tried_count = 0;
  double choice_us = 0;
  std::vector<TracePoint> trace;
};

// Throws Error where the engine cannot run the problem at all.
TuneResult tune(const Engine& engine, const Problem& problem, const TuneOptions& options);

}  // namespace thresher::tune
