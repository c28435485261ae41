// SPDX-License-Identifier: Apache-2.0
// Ways to answer "is B faster than A?" from 60 calls, each as a benchmark script would do it, with
// a two-sided test at 5 %. All but the last are wrong in some simulated world; they are here to
// show that the worlds contain the traps, and why the referee does it the last way.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "referee/statistics/round_mean.hpp"
#include "referee/statistics/simulated_world.hpp"
#include "referee/statistics/verdict.hpp"

namespace thresher::referee {

enum class Finding : std::uint8_t { kNothing, kFaster, kSlower };

// A way to answer "is B faster than A?" from 60 calls, as a benchmark script would do it, with a
// two-sided test at 5 %. All but the last are wrong in some world.
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
// 5 rounds of fresh processes with 3 ABBA blocks each, t-test over rounds: the referee's estimate.
Finding play_fresh_processes(const SimulatedWorld& world, double speedup, std::uint64_t seed);

inline constexpr std::array<Design, 5> kDesigns = {{
    {"A x30, B x30, Welch", play_one_after_the_other},
    {"AB x30, paired", play_pairs},
    {"ABBA x15, one process", play_one_process},
    {"ABBA until significant", play_until_significant},
    {"ABBA x3, 5 processes", play_fresh_processes},
}};

// The generalised sequential probability ratio test of a gain of exactly `log_speedup_asked`
// against no gain, with errors of 5 %, looked at after every round:
//   LLR = n (s1 - s0) (2 m - s0 - s1) / (2 v), s0 = 0, s1 = log_speedup_asked, bounds +-ln 19,
// v the variance of a round, shrunk towards a machine's history: five rounds' worth of 1 %.
// Efficient where the history is right, wrong too often on a machine noisier than its history.
VerdictKind probability_ratio_test(const RoundMean& gain, double log_speedup_asked);

}  // namespace thresher::referee
