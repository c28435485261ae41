// SPDX-License-Identifier: Apache-2.0
// What a match produces: raw samples as they were taken, and a verdict. Everything a verdict says
// of times is computed from the samples (analysis.hpp), so anyone can compute it again. Outcomes
// are data: a contestant that fails is never an exception.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/surroundings.hpp"

namespace thresher {

// Two timed calls of each of two arms in ABBA or BAAB order, others perhaps between them: a
// constant or linear drift cancels.
struct Block {
  int problem_index = 0;
  bool first_arm_a = true;
  double a_ns[2] = {0, 0};
  double b_ns[2] = {0, 0};
  // The machine was disturbed while it was played, by a rule that knows no times of contestants
  // (disturbance.hpp).
  bool disturbed = false;
};

// One heat of a match: fresh processes for every arm. A match has several; it is itself one step in
// a round of the tank.
struct HeatSamples {
  std::vector<Block> match;   // a: champion, b: challenger
  std::vector<Block> same;    // a: champion, b: its copy
  std::vector<Block> slowed;  // a: champion, b: champion with a known delay inside the timed window
};

// How the calls of a match were timed: what surrounded each, and whether the weights that it read
// were in a cache.
struct CallTiming {
  measure::Surroundings calls = measure::Surroundings::kAlone;
  bool cold = true;

  bool operator==(const CallTiming&) const = default;
};
std::string to_string(const CallTiming& timing);  // "single calls, cold weights"

struct MatchSamples {
  std::vector<std::string> problems;
  double slowed_truth = 1;  // speedup of the slowed arm, below 1
  std::vector<HeatSamples> heats;
  // Problems in which both arms are our own engine with the very same plan: there is nothing in
  // which the challenger could be slower. They are measured all the same.
  std::vector<std::string> same_plan;
  std::optional<CallTiming> timing;  // nothing in ledgers from before it was said
};

enum class VerdictKind : std::uint8_t {
  kAccepted,  // meets the deal terms
  kRejected,  // slower, or the terms are not met
  kWrong,     // numerics
  kInvalid,   // does not build, violates a rule, crashes, hangs, is faster than light
  kUnclear,   // too noisy to say
};

std::string_view to_string(
    VerdictKind kind);  // "accepted", "rejected", "wrong", "invalid", "unclear"
VerdictKind verdict_kind_from_string(std::string_view text);

// The contract a winner must meet.
struct DealTerms {
  double speedup_min = 1.01;     // geomean speedup asked for, 1 + tau
  double regression_max = 0.03;  // no problem may be slower than this, as a ratio over 1
  double spread_max = 0.05;      // what the challenger may spread more than the champion
  // How much slower the mean and the 90th percentile of its calls may look, over all problems;
  // being surely slower at all is too much. 0: nobody asks, as in ledgers from before there was
  // this term.
  double tail_max = 0.03;
  double confidence = 0.95;  // of the one-sided bounds
};

// One number with its two-sided 95 % interval.
struct Estimate {
  double value = 1;
  double low = 1;
  double high = 1;
};

struct ProblemEstimate {
  std::string problem;
  Estimate speedup;        // > 1: the challenger is faster
  double lower_bound = 1;  // one-sided, for the non-inferiority gate
  double champion_us = 0;  // median over heats
  double challenger_us = 0;
  double champion_spread = 0;  // sd over heats of ln(heat median)
  double challenger_spread = 0;
};

// The instrument's own checks, taken inside the same match. Their intervals have 99 %, so that each
// fails by chance in one match of a hundred (terms.hpp).
struct Controls {
  Estimate same;            // champion against its own copy: must contain 1
  Estimate slowed;          // champion against itself with a known delay
  double slowed_truth = 1;  // what `slowed` must find
  bool ok = true;
  std::string why_not;
};

struct MatchEstimate {
  Estimate speedup;        // geomean over problems
  double lower_bound = 1;  // one-sided
  std::vector<ProblemEstimate> problems;
  Controls controls;
  int heat_count = 0;
  double minimum_detectable_effect = 0;  // 0.01: these heats find +1 % with 90 % power
  // kUnclear: heats that would lead to acceptance if nothing changes; 0 where none would.
  int more_heats_needed = 0;
  int block_count = 0;     // of the match
  int left_out_count = 0;  // of these, because the machine was disturbed
};

struct Verdict {
  VerdictKind kind = VerdictKind::kInvalid;
  std::string check;   // the check that decided: "poison", "speed_of_light", "terms" ...
  std::string reason;  // one sentence
  std::optional<MatchEstimate> estimate;
  std::optional<CallTiming> timing;              // of the samples, where it came to them
  std::vector<std::string> missing_protections;  // what the kernel refused to the sandbox
};

}  // namespace thresher
