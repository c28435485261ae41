// SPDX-License-Identifier: Apache-2.0
// A shark: a judge with a name, evidence of its own, and a program that turns both into a ballot.
//
// What a shark knows is given to it when it is made, so that no two see the same thing: a panel
// that shares its evidence shares its mistakes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/machine.hpp"
#include "gemm/suite.hpp"
#include "referee/statistics/verdict.hpp"
#include "tank/ledger/ledger.hpp"
#include "tank/panel/ballot.hpp"
#include "tank/pitch/pitch.hpp"

namespace thresher {

struct Shark {
  std::string name;
  // The pitch's contestant is the one that would run: knobs are laid over the champion's.
  std::function<Ballot(const Pitch& pitch)> judge;
};

// What a shark has come to believe of a pitch.
struct Belief {
  double p_right = 0.9;    // builds, runs and computes what it must
  double log_speedup = 0;  // median of ln(geomean speedup)
  double log_speedup_sd = 0.1;
  double evidence = 5;  // points for how well its evidence supports the claim
  // Chance to be accepted, from a shark with a better source for it than the numbers above.
  std::optional<double> p_works = {};
  std::string reason = {};  // one sentence with the numbers it rests on
};

// A belief as a ballot: points on every dimension any rubric asks for, and the forecast. All sharks
// share this scale, so that a point is worth the same whoever gives it.
Ballot make_ballot(const std::string& shark, const Pitch& pitch, const Belief& belief,
                   const DealTerms& terms);

// 10 points for half of the time saved, none for no gain.
double speedup_points(double log_speedup);

// Chance that ln(speedup) ~ N(mean, sd^2) is above `log_threshold`.
double chance_above(double log_threshold, double mean, double sd);

// Every shark votes for the pitch it gave the most points.
void cast_vote(std::vector<Ballot>& ballots_of_one_shark, const Rubric& rubric);

// The Theorist predicts from a machine model and knows no history. It sees the machine's measured
// ceilings, how champion and challenger cut the problems, and how long the champion takes.
struct TheoristEvidence {
  Suite suite;
  Machine machine;
  Contestant champion;
  std::map<std::string, double> champion_us;  // by problem, as measured; empty: not yet
  DealTerms terms;
};

Shark theorist(TheoristEvidence evidence);

// What claims were worth: every resolved pitch in the ledger, whatever its season.
struct PastClaim {
  std::string family;
  std::string author;
  double log_claim = 0;
  bool worked = false;                // accepted
  std::optional<double> log_speedup;  // as measured; none: it never came to timing
  bool reported = false;              // somebody else's word
};

// In the order of the verdicts. Unclear ones resolve nothing and are left out.
std::vector<PastClaim> past_claims(const Ledger& ledger);

// The Skeptic believes a claim as far as claims of that family and that author were worth
// something, and knows nothing of machines.
Shark skeptic(std::vector<PastClaim> history, const DealTerms& terms);

// The Pragmatist weighs cost and risk and reads them off the contestant itself: can it run the
// suite at all, how many knobs it turns, how much memory it needs, whether foreign code comes in.
struct PragmatistEvidence {
  Suite suite;
  Machine machine;
  Contestant champion;
  DealTerms terms;
};

Shark pragmatist(PragmatistEvidence evidence);

// The first problem of `suite` that `variant` cannot run on `machine`, and why; empty if there is
// none.
std::string first_refusal(const std::string& variant, const Suite& suite, const Machine& machine);

// What a pilot of `contestant` against the champion found; nothing when no time is left for one.
using Pilot = std::function<std::optional<Verdict>(const Contestant& contestant)>;

// The Oracle buys a pilot: a match too short for a verdict, long enough for a hint. It reads
// nothing else, not even the claim.
inline constexpr const char* kOracle = "Oracle";
Shark oracle(Pilot pilot, const DealTerms& terms);

}  // namespace thresher
