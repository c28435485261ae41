// SPDX-License-Identifier: Apache-2.0
// A season: rounds until no pitch can enter, or until its time is over.
//
// A season that was killed goes on when it is played again under its name, with the rules it was
// started with; time is counted by the matches in the ledger. An `end` entry closes it for good.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tank/season/season_rules.hpp"

namespace thresher {

struct SeasonSetup {
  SeasonRules rules;
  Contestant champion;  // who holds the title before the first round
  std::vector<Pitch> pitches;
  std::vector<Ballot> votes;
  MachineRates rates;
  SmLimits limits;                            // of the GPU, where the season is played on one
  std::map<std::string, double> champion_us;  // by problem, if it was timed
  nlohmann::json environment = nlohmann::json::object();  // what else to remember of the machine
  double seconds_max = 180;
  int rounds_max = 0;       // 0: any number
  bool stays_open = false;  // more rounds may follow: no `end` entry
  std::uint64_t seed = 0;
};

struct SeasonResult {
  int rounds_played = 0;  // by this call
  std::string ended_by;   // "pitches", "time" or "rounds"
};

// Starts the season or goes on with it; pitches it does not know yet enter. Throws Error when it
// has ended, when a pitch has the name of another, or when the ledger cannot be written.
SeasonResult play_season(Ledger& ledger, const SeasonSetup& setup, const SeasonTools& tools);

// The last measured season without an `end`; empty if there is none.
std::string unfinished_season(const Ledger& ledger);

// Credibilities as the last measured season left them: sharks keep their name for longer than that.
Credibilities last_credibilities(const Ledger& ledger);

}  // namespace thresher
