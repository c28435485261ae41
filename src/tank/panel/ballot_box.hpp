// SPDX-License-Identifier: Apache-2.0
// Collects the ballots of a round and seals them, before anything is built; then counts them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tank/panel/credibility.hpp"
#include "tank/panel/shark.hpp"
#include "tank/season/season.hpp"

namespace thresher {

class BallotBox {
 public:
  // `votes` are the ballots of people and agents, on any pitches.
  BallotBox(SeasonLog& log, const SeasonRules& rules, const SeasonTools& tools,
            std::vector<Ballot> votes);

  // Asks every shark about every candidate that it has not voted on in this round.
  void collect(int round, const std::vector<Pitch>& candidates);

  // The seal is the SHA-256 of the ballots' data as a JSON array without spaces, in the order of
  // the ledger. Throws Error if there is one already and the ballots are no longer those it was put
  // on.
  void seal(int round);

 private:
  std::vector<Shark> panel();
  std::optional<Verdict> pilot_of(const Contestant& contestant) const;
  void play_pilots(int round, const std::vector<Pitch>& candidates);
  void collect_from(const Shark& shark, int round, const std::vector<Pitch>& candidates);
  void append(int round, Ballot ballot);
  bool has_ballot(int round, const std::string& shark, const std::string& pitch) const;

  SeasonLog& log_;
  const SeasonRules& rules_;
  const SeasonTools& tools_;
  const std::vector<Ballot> votes_;
  double pilot_seconds_ = 0;
  std::map<std::string, Verdict> pilots_;  // by both hashes: nobody pays twice for one answer
};

struct RankedPitch {
  std::string pitch;
  double score = 0;
  double disagreement = 0;  // standard deviation of the sharks' scores
  bool pilot_failed = false;
};

// Scores this close look alike on a scoreboard, so they are a tie.
inline constexpr double kTie = 0.005;

// From ballots to an order of pitches: scores weighted by the rubric, then by the sharks'
// credibility. What has failed in a pilot comes after everything that has not, whatever points its
// claim was given. A tie goes to the lower risk, then to the lower complexity, then to the pitch
// the sharks agree on more, then to the name, so that the order never depends on chance. Every
// pitch that has a ballot is in it. A shark without a ballot on a pitch leaves its weight to the
// others.
std::vector<RankedPitch> rank(const std::vector<Ballot>& ballots, const Rubric& rubric,
                              const Credibilities& credibilities,
                              const std::vector<Pitch>& pitches);

}  // namespace thresher
