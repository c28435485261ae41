// SPDX-License-Identifier: Apache-2.0
// What a season is played by, what it is played with, and where it is written down.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gemm/backend.hpp"
#include "referee/match.hpp"
#include "tank/panel/ballot.hpp"
#include "tank/season/season_record.hpp"

namespace thresher {

struct SeasonRules {
  std::string season;
  Suite suite;
  Backend backend = Backend::kCpu;
  Rubric rubric;
  DealTerms terms;
  MatchOptions match;  // with its thread_count said
  MatchOptions pilot;
  double pilot_seconds_max = 45;  // all pilots of a season together
  int tries_max = 3;              // pitches built in a round until one is accepted
  double control_share = 0.1;     // of the losing pitches, built anyway
  int rounds_until_research = 3;  // without an accepted pitch
  std::string device;             // what constraints call this machine
};

// The machine as the ledger has it: a season that goes on elsewhere is still about this one.
inline Machine machine_of(const SeasonRecord& record, const SeasonRules& rules) {
  return {.rates = record.rates, .thread_count = rules.match.thread_count, .limits = record.limits};
}

// All that touches the machine, so that a season can be played without one.
struct SeasonTools {
  std::function<MatchRecord(const Match& match)> judge;
  std::function<std::string(const Contestant& contestant)> hash;
  // Where the champion's time goes, one sentence each.
  std::function<std::vector<std::string>(const Contestant& champion)> research;
  std::function<double()> seconds_now;                  // a clock that only goes forward
  std::function<void(const std::string& what)> report;  // something worth showing happened
};

// The ledger and what it says, kept in step: nothing happens in a season that is not appended
// first.
struct SeasonBook {
  Ledger& ledger;
  std::string season;
  SeasonRecord record;

  LedgerEntry append(const std::string& kind, const nlohmann::json& data) {
    LedgerEntry entry = ledger.append(season, kind, "measured", data);
    record.apply(entry);
    return entry;
  }
};

}  // namespace thresher
