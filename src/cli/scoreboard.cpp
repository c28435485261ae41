// SPDX-License-Identifier: Apache-2.0
// thresher scoreboard: what a season came to. The seeds' season is imported when it is asked for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/ledger_path.hpp"
#include "cli/scoreboard_report.hpp"
#include "tank/season/seeds_season.hpp"

namespace thresher::cli {
namespace {

struct ScoreboardOptions {
  std::filesystem::path ledger;
  std::string season;
  bool json = false;
};

// The last season played here, unless one is named.
std::string season_of(const Ledger& ledger, const std::string& name) {
  const std::vector<std::string> seasons = ledger.seasons();
  if (name.empty()) {
    for (auto season = seasons.rbegin(); season != seasons.rend(); ++season) {
      if (*season != kSeedsSeason) return *season;
    }
    throw UsageError(fmt::format("ledger '{}' has no season yet; 'thresher season' plays one",
                                 ledger.path().string()));
  }
  if (std::find(seasons.begin(), seasons.end(), name) != seasons.end()) return name;
  throw UsageError(
      fmt::format("ledger '{}' has no season '{}'; it has: {}", ledger.path().string(), name,
                  seasons.empty() ? "none" : fmt::to_string(fmt::join(seasons, ", "))));
}

int run_scoreboard(const ScoreboardOptions& options) {
  const bool wants_seeds = options.season == kSeedsSeason;
  Ledger ledger = wants_seeds ? Ledger(options.ledger) : open_existing_ledger(options.ledger);
  if (wants_seeds) import_seeds_season(ledger);
  const Scoreboard board = scoreboard(ledger, season_of(ledger, options.season));
  if (options.json) {
    fmt::print("{}\n", to_ordered_json(board).dump());
  } else {
    print_scoreboard(board);
  }
  return kExitOk;
}

}  // namespace

Command add_scoreboard(CLI::App& app) {
  const auto options = std::make_shared<ScoreboardOptions>();
  CLI::App* command =
      app.add_subcommand("scoreboard", "What was promised, what was measured, who was right");
  command->add_option("--season", options->season, "Its name; 'seeds' is the one that began it all")
      ->default_str("the last one played");
  add_ledger_option(*command, options->ledger);
  command->add_flag("--json", options->json, "Print one JSON object");
  return {command, [options] { return run_scoreboard(*options); }};
}

}  // namespace thresher::cli
