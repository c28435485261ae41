// SPDX-License-Identifier: Apache-2.0
// How often each way of measuring is wrong, and the referee's own error rates, counted in simulated
// worlds. `thresher referee simulate` prints them; the tests hold them to their promises.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "referee/statistics/analysis.hpp"
#include "referee/statistics/heat_values.hpp"
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

// Machines where people live. Other processes, other guests of the host: what they take is common
// to both arms as far as it lasts, and each call's own as far as it does not.
inline constexpr std::array<NamedWorld, 5> kNoisyWorlds = {{
    {"bursts of 5 to 30 %",
     {.noise_sd = 0.02,
      .process_offset_sd = 0.01,
      .guest = {.time_share = 0.3, .stay_calls = 30, .loss_min = 0.05, .loss_max = 0.30}}},
    // Every other call is hit; half of those lose more than 15 %, one in ten more than 40 %.
    {"one busy core",
     {.noise_sd = 0.02, .outlier_share = 0.5, .outlier_median = 0.15, .process_offset_sd = 0.01}},
    // Both cores compile for as long as some heats: calls take two or three times as long, and one
    // contestant suffers more than the other.
    {"unequal by code",
     {.noise_sd = 0.02,
      .process_offset_sd = 0.01,
      .guest = {.time_share = 0.35,
                .stay_calls = 200,
                .loss_min = 0.5,
                .loss_max = 1.1,
                .noise_sd = 0.05,
                .unequal_by_code = 0.2}}},
    {"unequal by process",
     {.noise_sd = 0.02,
      .process_offset_sd = 0.01,
      .guest = {.time_share = 0.35,
                .stay_calls = 200,
                .loss_min = 0.5,
                .loss_max = 1.1,
                .noise_sd = 0.05,
                .unequal_by_process = 0.2}}},
    {"a neighbour",
     {.noise_sd = 0.02,
      .process_offset_sd = 0.01,
      .guest = {.time_share = 0.5,
                .stay_calls = 150,
                .loss_min = 0.1,
                .loss_max = 0.8,
                .noise_sd = 0.15}}},
}};

enum class Finding : std::uint8_t { kNothing, kFaster, kSlower };

// Far more processes than cores. Calls that are hit take up to twenty times as long, and whom it
// hits in a heat is luck. Nothing can be decided there, and nothing false may be.
inline constexpr SimulatedWorld kCrowd = {.noise_sd = 0.02,
                                          .process_offset_sd = 0.01,
                                          .guest = {.time_share = 0.5,
                                                    .stay_calls = 2,
                                                    .loss_max = 3,
                                                    .noise_sd = 0.5,
                                                    .unequal_by_process = 0.9}};

// A way to answer "is B faster than A?" from 60 calls, as a benchmark script would do it, with a
// two-sided test at 5 %. All but the last are wrong in some simulated world; they are here to show
// that the worlds contain the traps, and why the referee does it the last way.
struct Design {
  std::string_view name;
  // Plays B, which is `speedup` times as fast as A, on a machine of that world.
  Finding (*play)(const SimulatedWorld& world, double speedup, std::uint64_t seed);
};

// A 30 times, then B 30 times, Welch's t-test.
Finding play_one_after_the_other(const SimulatedWorld& world, double speedup, std::uint64_t seed);
// A B A B ... 30 times, paired t-test.
Finding play_pairs(const SimulatedWorld& world, double speedup, std::uint64_t seed);
// 15 ABBA blocks in one process for each arm, t-test over blocks.
Finding play_one_process(const SimulatedWorld& world, double speedup, std::uint64_t seed);
// The same, tested after every block from the 5th to the 60th until something is found.
Finding play_until_significant(const SimulatedWorld& world, double speedup, std::uint64_t seed);
// 5 heats of fresh processes with 3 ABBA blocks each, t-test over heats: the referee's estimate.
Finding play_fresh_processes(const SimulatedWorld& world, double speedup, std::uint64_t seed);

inline constexpr std::array<Design, 5> kDesigns = {{
    {"A x30, B x30, Welch", play_one_after_the_other},
    {"AB x30, paired", play_pairs},
    {"ABBA x15, one process", play_one_process},
    {"ABBA until significant", play_until_significant},
    {"ABBA x3, 5 processes", play_fresh_processes},
}};

// The generalised sequential probability ratio test of a gain of exactly `log_speedup_asked`
// against no gain, with errors of 5 %, looked at after every heat:
//   LLR = n (s1 - s0) (2 m - s0 - s1) / (2 v), s0 = 0, s1 = log_speedup_asked, bounds +-ln 19,
// v the variance of a heat, shrunk towards a machine's history: five heats' worth of 1 %.
// Efficient where the history is right, wrong too often on a machine noisier than its history.
VerdictKind probability_ratio_test(const HeatMean& gain, double log_speedup_asked);

struct DesignRates {
  double false_positives = 0;  // share of A/A comparisons that find a difference
  double power = 0;            // share of 2 % gains that are found
};

DesignRates rate_design(const Design& design, const SimulatedWorld& world, int trial_count,
                        std::uint64_t seed);

struct VerdictRates {
  double accepted = 0;
  double rejected = 0;
  double rejected_for_spread = 0;  // the part of `rejected` that would not be, but for that term
  double unclear = 0;
  double controls_failed = 0;  // the part of `unclear` that is void
  double heats_mean = 0;
};

struct MatchPlan {
  SimulatedWorld world;
  SimulatedTruth truth;
  DealTerms terms;
  AnalysisOptions options;
};

// Matches under the whole contract: heats until next_step() has enough, then decide().
VerdictRates rate_verdicts(const MatchPlan& plan, int trial_count, std::uint64_t seed);

// The same matches, stopped and decided by probability_ratio_test() on the geomean alone.
VerdictRates rate_probability_ratio_test(const MatchPlan& plan, int trial_count,
                                         std::uint64_t seed);

struct NamedTruth {
  std::string_view name;
  std::vector<double> speedups;
  double challenger_heat_sd = 0;
};

struct NamedOptions {
  std::string_view name;
  AnalysisOptions options;
};

// What challengers may turn out to be under terms of +1 % and at most -3 %, and how long they may
// be measured: a fixed number of heats, or as many as next_step() wants.
std::vector<NamedTruth> contract_truths();
inline constexpr std::array<NamedOptions, 3> kContractOptions = {{
    {"5 heats", {.heats_min = 5, .heats_max = 5}},
    {"8 heats", {.heats_min = 8, .heats_max = 8}},
    {"5 to 15 heats", {.heats_min = 5, .heats_max = 15}},
}};

// Four problems, 3 blocks each, in the last of the worlds.
MatchPlan contract_plan(const std::vector<double>& speedups, const AnalysisOptions& options);

// Three problems in a noisy world: the heats of a match of 25 s, as many blocks as its pilot asks
// for, under the default terms.
MatchPlan noisy_plan(const SimulatedWorld& world, const std::vector<double>& speedups,
                     double challenger_heat_sd = 0);
// Where the weather itself prefers one kernel, nobody can say whether 4 % are a regression: only
// those far from every line.
std::vector<NamedTruth> noisy_truths(const SimulatedWorld& world);

// One problem under the gain's term alone, 5 to 15 heats, on a machine of this noise per call: the
// error rates must hold however noisy it is.
MatchPlan noise_plan(double noise_sd, double speedup);
inline constexpr std::array<double, 5> kNoises = {0.005, 0.01, 0.02, 0.04, 0.08};

}  // namespace thresher::referee
