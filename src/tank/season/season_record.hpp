// SPDX-License-Identifier: Apache-2.0
// What the ledger says of a season: a fold over its entries, the same after a kill as before it.
// Nothing about a season is kept anywhere else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/machine.hpp"
#include "referee/contestant/contestant.hpp"
#include "referee/statistics/verdict.hpp"
#include "tank/ledger/ledger.hpp"
#include "tank/panel/ballot.hpp"
#include "tank/panel/credibility.hpp"
#include "tank/pitch/pitch.hpp"

namespace thresher {

// A match may have been played in several stretches, each an entry of its own: this is all of them
// together, as the last one left it.
struct PlayedMatch {
  std::int64_t entry = 0;  // the last stretch's id in the ledger
  std::string pitch;
  bool control = false;
  std::string champion_hash;
  std::string challenger_hash;
  Verdict verdict;
  std::optional<std::int64_t> verdict_entry;  // none: killed between the match and its verdict
  MatchSamples samples;                       // of an unclear one, which may go on: all heats
  double seconds = 0;
  int stretch_count = 1;
  std::string machine_class;  // empty: of the season's own machine
};

// How far a round has come. Every step of tank/season/round.hpp looks here whether it is done.
struct RoundRecord {
  Contestant champion;  // who held the title when it began: all forecasts are about beating it
  std::string champion_hash;
  Credibilities credibilities;  // what votes weigh in this round
  std::vector<Ballot> ballots;
  nlohmann::json sealed_text = nlohmann::json::array();  // the ballots as recorded
  std::string seal;                                      // empty: still open
  std::vector<PlayedMatch> matches;
  std::set<std::string> lessons;  // ids of the constraints learned
  bool has_new_champion = false;
  bool is_scored = false;
  bool is_finished = false;

  const PlayedMatch* match_of(const std::string& pitch) const;
  // Whether the pilot of this pitch was wrong or did not run, as its ballots say.
  bool pilot_failed(const std::string& pitch) const;
};

struct SeasonRecord {
  bool has_started = false;
  bool has_ended = false;
  nlohmann::json start;  // the data of the `season` entry
  std::uint64_t seed = 0;
  MachineRates rates;
  SmLimits limits;  // of the GPU, if the season is played on one
  Contestant champion;
  std::string champion_hash;
  std::map<std::string, double> champion_us;  // by problem, last measured
  std::vector<Pitch> pitches;
  std::map<std::string, std::string> vetoes;  // pitch to the constraint that last stopped it
  std::map<int, RoundRecord> rounds;
  // Matches that were begun together in overtime and are not back yet, by round and pitch.
  std::vector<std::pair<int, std::string>> overtime;
  Credibilities credibilities;
  int fruitless_rounds = 0;  // since the last accepted pitch or research round
  double match_seconds = 0;  // of matches that were played at the same time each its part
  // What it may take in all, extensions included; none in ledgers that do not say.
  std::optional<double> seconds_max;

  // Entries of one season, in order. Throws Error naming the entry that cannot be read.
  void apply(const LedgerEntry& entry);

  const Pitch& pitch(const std::string& name) const;
  // The round to play: the last one unless it is finished, or the one after it.
  int current_round() const;

 private:
  void apply_data(const LedgerEntry& entry);
  void apply_start(const nlohmann::json& data);
  void apply_match(const LedgerEntry& entry, RoundRecord& round);
  void add_stretch(PlayedMatch stretch, std::int64_t continues, RoundRecord& round);
  void apply_champion(const nlohmann::json& data, RoundRecord& round);
  RoundRecord& round_of(const nlohmann::json& data);
};

SeasonRecord read_season(const Ledger& ledger, const std::string& season);

// A folder as a ledger keeps it: from the current one where it lies inside that, so that a ledger
// says nothing of the machine around it and a season goes on from a copy of its folder.
std::string recorded_folder(const std::filesystem::path& folder);

// A contestant whole, folder included, so that another process can run it.
nlohmann::json contestant_to_json(const Contestant& contestant);
Contestant contestant_from_json(const nlohmann::json& json);

nlohmann::json rates_to_json(const MachineRates& rates);
MachineRates rates_from_json(const nlohmann::json& json);
nlohmann::json limits_to_json(const SmLimits& limits);
SmLimits limits_from_json(const nlohmann::json& json);

}  // namespace thresher
