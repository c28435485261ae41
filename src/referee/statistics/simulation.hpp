// SPDX-License-Identifier: Apache-2.0
// How often each way of measuring is wrong, and the referee's own error rates, counted in simulated
// worlds. `thresher referee simulate` prints them; the tests hold them to their promises.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "referee/statistics/analysis.hpp"
#include "referee/statistics/simulated_designs.hpp"
#include "referee/statistics/simulated_world.hpp"

namespace thresher::referee {

struct NamedWorld {
  std::string_view name;
  SimulatedWorld world;
};

// Each world has the traps of the one before it, and one more.
inline constexpr std::array<NamedWorld, 4> kWorlds = {{
    {"quiet", {}},
    {"+ drift", {.drift_sd = 0.002}},
    {"+ slot order", {.drift_sd = 0.002, .second_slot_effect = 0.005}},
    {"+ process luck",
     {.drift_sd = 0.002, .second_slot_effect = 0.005, .process_offset_sd = 0.005}},
}};

struct DesignRates {
  double false_positives = 0;  // share of A/A comparisons that find a difference
  double power = 0;            // share of 2 % gains that are found
};

DesignRates rate_design(const Design& design, const SimulatedWorld& world, int trial_count,
                        std::uint64_t seed);

struct VerdictRates {
  double accepted = 0;
  double rejected = 0;
  double unclear = 0;
  double controls_failed = 0;  // the part of `unclear` that is void
  double rounds_mean = 0;
};

struct MatchPlan {
  SimulatedWorld world;
  SimulatedTruth truth;
  DealTerms terms;
  AnalysisOptions options;
};

// Matches under the whole contract: rounds until next_step() has enough, then decide().
VerdictRates rate_verdicts(const MatchPlan& plan, int trial_count, std::uint64_t seed);

// The same matches, stopped and decided by probability_ratio_test() on the geomean alone.
VerdictRates rate_probability_ratio_test(const MatchPlan& plan, int trial_count,
                                         std::uint64_t seed);

struct NamedTruth {
  std::string_view name;
  std::vector<double> speedups;
};

struct NamedOptions {
  std::string_view name;
  AnalysisOptions options;
};

// What challengers may turn out to be under terms of +1 % and at most -3 %, and how long they may
// be measured: a fixed number of rounds, or as many as next_step() wants.
std::vector<NamedTruth> contract_truths();
inline constexpr std::array<NamedOptions, 3> kContractOptions = {{
    {"5 rounds", {.rounds_min = 5, .rounds_max = 5}},
    {"8 rounds", {.rounds_min = 8, .rounds_max = 8}},
    {"5 to 15 rounds", {.rounds_min = 5, .rounds_max = 15}},
}};

// Four problems, 3 blocks each, in the last of the worlds.
MatchPlan contract_plan(const std::vector<double>& speedups, const AnalysisOptions& options);

// One problem under the gain's term alone, 5 to 15 rounds, on a machine of this noise per call: the
// error rates must hold however noisy it is.
MatchPlan noise_plan(double noise_sd, double speedup);
inline constexpr std::array<double, 5> kNoises = {0.005, 0.01, 0.02, 0.04, 0.08};

}  // namespace thresher::referee
