// SPDX-License-Identifier: Apache-2.0
// thresher scoreboard: what a season came to.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/ledger_path.hpp"
#include "cli/scoreboard_report.hpp"
#include "referee/sandbox/scratch.hpp"
#include "tank/season/seeds_season.hpp"

namespace thresher::cli {
namespace {

struct ScoreboardOptions {
  std::filesystem::path ledger = kDefaultLedger;
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

// The seeds' season travels in the program, so that it can be shown without a ledger: in one of its
// own, which goes away. Looking at it needs no right to write and leaves nothing behind.
Scoreboard seeds_scoreboard() {
  const referee::ScratchFolder folder(referee::FolderOwner::kReferee);
  Ledger ledger(folder.path() / "seeds.db");
  import_seeds_season(ledger);
  return scoreboard(ledger, kSeedsSeason);
}

Scoreboard scoreboard_of(const ScoreboardOptions& options) {
  if (options.season == kSeedsSeason) return seeds_scoreboard();
  const Ledger ledger = open_existing_ledger(options.ledger);
  return scoreboard(ledger, season_of(ledger, options.season));
}

int run_scoreboard(const ScoreboardOptions& options) {
  const Scoreboard board = scoreboard_of(options);
  if (options.json) {
    fmt::print("{}\n", to_ordered_json(board).dump());
  } else {
    print_scoreboard(board);
  }
  return kExitOk;
}

}  // namespace

Command scoreboard_command() {
  const auto options = std::make_shared<ScoreboardOptions>();
  return {.name = "scoreboard",
          .what = "What was promised, what was measured, who was right",
          .options = {{.name = "--season",
                       .value = &options->season,
                       .what = "Its name; 'seeds' is the one that began it all",
                       .default_text = "the last one played"},
                      ledger_option(options->ledger),
                      json_flag(options->json)},
          .run = [options] { return run_scoreboard(*options); }};
}

}  // namespace thresher::cli
