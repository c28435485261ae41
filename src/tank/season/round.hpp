// SPDX-License-Identifier: Apache-2.0
// One round: constraints veto, sharks vote, the ballots are sealed, the best pitch is built and
// judged, forecasts are scored.
//
// Every step is in the ledger before the next one begins, and a step that is there is not done
// again: playing a round that was killed goes on where it stopped.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tank/panel/ballot_box.hpp"
#include "tank/season/overtime.hpp"
#include "tank/season/season.hpp"

namespace thresher {

class RoundPlayer {
 public:
  RoundPlayer(SeasonLog& log, const SeasonRules& rules, const SeasonTools& tools,
              std::vector<Ballot> votes);

  // Plays the season's current round to its end. Once seconds_now() is past `deadline` nothing is
  // built but the winner. False, and no round, when no pitch can enter.
  bool play(double deadline);

  // Goes on with the most promising of the unclear matches, so many as there are jobs. False when
  // there is none, or no time.
  bool play_overtime(double deadline);
  // The same with those alone that have not gone on yet and should be decided in the time of one
  // match.
  bool play_nearly_decided(double deadline);

  // What follows from stretches that were played in overtime, if a kill came before it; and those
  // that were begun together with them.
  void settle_overtime(double deadline);

 private:
  struct Attempt {
    Pitch pitch;
    Contestant challenger;
    bool control = false;  // built although it lost the vote
  };

  // A match, or what is played of it after a break.
  struct Stretch {
    int round = 0;
    Attempt attempt;
    std::optional<PlayedMatch> earlier;
  };

  std::vector<Pitch> candidates();
  bool is_out(const Pitch& pitch) const;
  std::optional<Pitch> entered(const Pitch& pitch);
  void veto(const Pitch& pitch, const std::string& constraint, const std::string& reason);

  void try_pitches();
  void build_controls();
  bool is_begun(const std::vector<std::string>& batch) const;
  void settle(const std::vector<std::string>& batch, bool control);
  void play(const std::vector<Stretch>& stretches);
  MatchOrder order_of(const Stretch& stretch) const;
  void append(const Stretch& stretch, const std::string& id, const MatchReport& report);
  bool play_overtime(double deadline, const std::vector<OpenMatch>& open_matches);
  Stretch stretch_of(int round_number, const std::string& pitch);
  bool can_go_on(const Attempt& attempt, const PlayedMatch& match);
  Attempt attempt_of(const std::string& name, bool control) const;
  MatchOptions match_options(const PlayedMatch* earlier) const;
  void draw_consequences(const Attempt& attempt, const PlayedMatch& match);
  bool has_learned(const std::string& lesson) const;
  void record_verdict(const PlayedMatch& match);
  void crown(const Attempt& attempt, const PlayedMatch& match);
  void learn(const Attempt& attempt, const PlayedMatch& match);
  void finish();

  std::vector<RankedPitch> ranking() const;
  bool had_match_before(const std::string& pitch) const;
  const RoundRecord& round() const { return log_.record.rounds.at(number_); }

  SeasonLog& log_;
  const SeasonRules& rules_;
  const SeasonTools& tools_;
  BallotBox box_;
  int number_ = 0;
  double deadline_ = 0;
  std::set<std::string> changed_;  // pitches that cannot go on, said once
};

}  // namespace thresher
