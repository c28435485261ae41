// SPDX-License-Identifier: Apache-2.0
// Finds a problem's fastest variant on a machine: the hunt, with candidates that race on the
// instrument that `bench` uses, and the referee's match against the engine's own choice at the end.
#pragma once

#include "gemm/speed_of_light.hpp"
#include "referee/match.hpp"
#include "thresher/engine.hpp"
#include "tune/hunt.hpp"

namespace thresher::tune {

struct TuneOptions {
  HuntOptions hunt;    // its seed is the search's; times are the machine's
  MachineRates rates;  // for the model of time: what the engine's device can do
  DealTerms terms;
  MatchOptions match;  // its seconds_max is set here
  // Of what runs, which variants may be tried.
  std::function<bool(const std::string& variant)> allows = [](const std::string&) { return true; };
  // Every variant but in name is the engine's choice, so that there is nothing to find: how often
  // something is found all the same is how often tuning is wrong.
  bool sham = false;
};

// Throws Error where the engine cannot run the problem at all.
Catch tune(const Engine& engine, const Problem& problem, const TuneOptions& options);

// More heats for a match that is open, with the options that it was found with.
Ruling play_on(const Problem& problem, const Catch& found, double seconds,
               const TuneOptions& options);

// Every variant of the problem's space, raced once; the fastest tenth, eight at least, three times
// more, and the fastest hundredth, three at least, nine times.
struct Sweep {
  VariantSpace space;
  HuntState state;
};
Sweep sweep(const Engine& engine, const Problem& problem, const TuneOptions& options);

}  // namespace thresher::tune
