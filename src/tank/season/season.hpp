// SPDX-License-Identifier: Apache-2.0
// A season: rounds until no pitch can enter, or until its time is over.
//
// A season that was killed goes on when it is played again under its name, with the rules it was
// started with; time is counted by the matches in the ledger. When no pitch is left for a round,
// unclear matches go on with all their heats while there is time (overtime.hpp). An `end` entry
// closes it, until an `extension` grants it more time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "referee/match.hpp"
#include "tank/panel/ballot.hpp"
#include "tank/season/season_record.hpp"

namespace thresher {

// What a season is played by.
struct SeasonRules {
  std::string season;
  Suite suite;
  std::string backend = "cpu";
  Rubric rubric;
  DealTerms terms;
  MatchOptions match;  // with its thread_count said
  MatchOptions pilot;
  double pilot_seconds_max = 45;  // all pilots of a season together
  int tries_max = 3;              // pitches built in a round until one is accepted
  // Matches that are begun together, before any of them has decided about the title
  // (docs/cluster.md). With one, a round ends with the first pitch that is accepted.
  int jobs = 1;
  double control_share = 0.1;     // of the losing pitches, built anyway
  int rounds_until_research = 3;  // without an accepted pitch
  std::string device;             // what constraints call this machine
};

// Where a season of a backend starts.
Contestant baseline(const Backend& backend);

// Every knob of a variant of ours with its value, those left out of its name too: what that means
// may change with the program. Empty for anything else.
KnobValues resolved_knobs(const Contestant& contestant);

// The machine as the ledger has it: a season that goes on elsewhere is still about this one.
inline Machine machine_of(const SeasonRecord& record, const SeasonRules& rules) {
  return {.rates = record.rates, .thread_count = rules.match.thread_count, .limits = record.limits};
}

// A match that may be played anywhere, and more than once if what was played is lost: the id says
// which one it is, and stands in its entry.
struct MatchOrder {
  std::string id;
  Match match;
  std::string machine_class = {};  // goes on with heats that were played on such a machine; any
};

struct MatchReport {
  MatchRecord record;
  nlohmann::json machine = {};  // where it was played: node and class; null: here
  int together = 1;             // so many were played at the same time, this one included
};

// Takes the report of the order with this index.
using TakeReport = std::function<void(std::size_t order_index, const MatchReport& report)>;

// All that touches the machine, so that a season can be played without one.
struct SeasonTools {
  std::function<MatchRecord(const Match& match)> judge;
  std::function<std::string(const Contestant& contestant)> hash;
  // Where the champion's time goes, one sentence each.
  std::function<std::vector<std::string>(const Contestant& champion)> research;
  std::function<double()> seconds_now;                  // a clock that only goes forward
  std::function<void(const std::string& what)> report;  // something worth showing happened
  // Something worth keeping in sight: a verdict, a veto. Without one, `report` says it.
  std::function<void(const std::string& what)> announce = {};
  // Plays matches that do not wait for each other, on many machines at once, and hands the reports
  // over in the order of the matches. Without one, `judge` plays one after the other.
  std::function<void(const std::vector<MatchOrder>& orders, const TakeReport& take)> play_all = {};
};

inline void announce(const SeasonTools& tools, const std::string& what) {
  (tools.announce ? tools.announce : tools.report)(what);
}

void play_matches(const SeasonTools& tools, const std::vector<MatchOrder>& orders,
                  const TakeReport& take);

// By what is played in which round, so that a coordinator that was killed asks for the same again.
struct MatchName {
  int round = 0;
  std::string pitch;
  std::string stage;  // "pilot", "stretch 1", "stretch 2" ...
  std::string champion_hash;
  std::string challenger_hash;
};
std::string match_id(const MatchName& name);

// The ledger and what it says, kept in step: nothing happens in a season that is not appended
// first.
struct SeasonLog {
  Ledger& ledger;
  std::string season;
  SeasonRecord record;

  LedgerEntry append(const std::string& kind, const nlohmann::json& data) {
    LedgerEntry entry = ledger.append(season, kind, "measured", data);
    record.apply(entry);
    return entry;
  }
};

struct SeasonSetup {
  SeasonRules rules;
  Contestant champion;  // who holds the title before the first round
  std::vector<Pitch> pitches;
  std::vector<Ballot> votes;
  MachineRates rates;
  std::optional<SmLimits> limits;             // of the GPU, where the season is played on one
  std::map<std::string, double> champion_us;  // by problem, if it was timed
  nlohmann::json environment = nlohmann::json::object();  // what else to remember of the machine
  double seconds_max = 180;
  int rounds_max = 0;            // 0: any number
  bool stays_open = false;       // more rounds may follow: no `end` entry
  double extension_seconds = 0;  // for a season that has ended: so much more time
  std::uint64_t seed = 0;
};

struct SeasonResult {
  int rounds_played = 0;  // by this call
  std::string ended_by;   // "pitches", "time" or "rounds"
};

// Starts the season or goes on with it; pitches it does not know yet enter. Throws Error when it
// has ended and is not extended, when its name is reserved, when a pitch has the name of another,
// or when the ledger cannot be written.
SeasonResult play_season(Ledger& ledger, const SeasonSetup& setup, const SeasonTools& tools);

// Throws Error for the name of the season that ships with the program: its entries are reported by
// others, and nothing measured may stand among them.
void check_season_name(const std::string& name);

// The last measured season without an `end`; empty if there is none.
std::string unfinished_season(const Ledger& ledger);

// Credibilities as the last measured season left them: sharks keep their name for longer than that.
Credibilities last_credibilities(const Ledger& ledger);

}  // namespace thresher
