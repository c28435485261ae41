// SPDX-License-Identifier: Apache-2.0
// Tuning on this machine, one problem after the other: what `thresher tune` does here, and what a
// cluster's node does with the one problem that it was given.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/tune_problems.hpp"
#include "cli/tuned_plan.hpp"
#include "tune/tuner.hpp"

namespace thresher::cli {

struct TuneRules {
  std::string backend;  // empty: what this machine has
  int thread_count = 0;
  double seconds = 300;  // for all problems together
  std::uint64_t seed = 1;
  DealTerms terms;
  std::vector<std::string> constraints = {};       // texts of files, beside those that ship
  std::vector<std::filesystem::path> hidden = {};  // from contestants, beside what always is
  bool again = false;                              // also what the plan has already
  bool sham = false;
  bool at_random = false;  // for a comparison
};

struct TunedProblem {
  Problem problem;
  PlanFingerprint machine;
  PlanEntry entry;
  bool is_new = true;  // false: the plan had it already
};

// Shows on stderr how far it is. What it finds goes into `plan` as it is found.
std::vector<TunedProblem> tune_here(const std::vector<Problem>& problems, const TuneRules& rules,
                                    TunedPlan& plan);

// Every variant of one problem, as a recorded space.
struct SweptProblem {
  std::string t4;  // the file's text
  std::size_t variant_count = 0;
  std::string best;
  double best_us = 0;
  double choice_us = 0;
};
SweptProblem sweep_here(const Problem& problem, const TuneRules& rules);

// The sandbox, the threads and the GPU that a referee's match at the end of a search has here.
MatchOptions match_of_tuning(const Engine& engine, const TuneRules& rules);

// Of a problem and what was found for it.
PlanEntry plan_entry(const Problem& problem, const tune::Catch& found, bool at_random);

}  // namespace thresher::cli
