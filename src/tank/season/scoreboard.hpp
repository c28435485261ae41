// SPDX-License-Identifier: Apache-2.0
// What a season came to, computed from its entries: who was built, what was promised, what was
// found. Reads ledgers of other people too, so a number that is not there is simply not there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tank/forecast/scores.hpp"
#include "tank/ledger/ledger.hpp"

namespace thresher {

// A number or a range; parts may be unknown.
struct Range {
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;

  bool is_known() const { return value || low || high; }
};

struct ScoreboardRow {
  int round = 0;
  std::string pitch;
  bool control = false;  // built although it lost the vote
  Range claimed;         // by its author
  Range predicted;       // by the panel: credibility-weighted median of the forecasts
  Range measured;
  std::string verdict;
  std::string reason;
  bool reported = false;
};

struct CredibilityRow {
  int round = 0;
  std::map<std::string, double> weights;
  std::optional<double> effective_judges;
};

struct WrongSheet {
  int round = 0;
  std::string shark;
  std::string pitch;
  std::optional<double> on_sheet;
  std::optional<double> recomputed;
};

struct Scoreboard {
  std::string season;
  std::string suite;
  std::string backend;   // "cpu", "gpu"; of a reported season what it says
  std::string device;    // "NVIDIA H200"; empty: the ledger does not say
  std::string champion;  // who holds the title now
  bool reported = false;
  bool ended = false;
  std::vector<ScoreboardRow> rows;
  // As recorded; of a reported season that scored nobody, replayed under our rules.
  std::vector<CredibilityRow> credibilities;
  std::vector<WrongSheet> wrong_sheets;
  int sheet_count = 0;
  int veto_count = 0;
  std::vector<std::string> findings;
  std::optional<ForecastScores> forecasts;  // of a season on a device that some were sealed for
};

Scoreboard scoreboard(const Ledger& ledger, const std::string& season);

// Why a match was unclear, once the title has changed: it goes on against the champion that it was
// played against and no other, so what more heats would tell is no longer said.
std::string reason_without_title(const std::string& reason);

// What constraints and tables call the machine of a season with this environment.
std::string device_of(const nlohmann::json& environment);

nlohmann::ordered_json to_ordered_json(const Scoreboard& board);

}  // namespace thresher
