// SPDX-License-Identifier: Apache-2.0
// What `thresher season` and `thresher round` have in common: their options, and from those a
// season to play on this machine.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/cluster_place.hpp"
#include "cli/command.hpp"
#include "cli/ledger_path.hpp"
#include "cli/presence.hpp"
#include "tank/season/season.hpp"

namespace thresher::cli {

inline constexpr double kSeasonSeconds = 180;

struct SeasonOptions {
  std::vector<std::filesystem::path> pitches;
  std::vector<std::filesystem::path> votes;
  std::string backend;  // empty: what the pitches need, or what this machine has
  std::string suite;    // empty: the backend's own
  std::string season;   // empty: a new name
  std::string rubric = kDefaultRubric;
  std::string champion;  // empty: the baseline
  std::vector<std::string> terms;
  double seconds = 0;  // 0: kSeasonSeconds, or what the season was started with
  double more_seconds = 0;
  double match_seconds = 20;
  int thread_count = 0;
  std::uint64_t seed = 0;
  std::filesystem::path ledger = kDefaultLedger;
  bool resume = false;
  bool json = false;
  ClusterOptions cluster;
};

std::vector<Option> season_options(SeasonOptions& options);

// Where matches are played, if not here; null: here.
std::unique_ptr<ClusterPlace> place_of(const SeasonOptions& options);

// Hears who else measures on this machine, from before its ceilings are measured; null: nothing is
// measured here.
std::unique_ptr<Presence> presence_of(const SeasonOptions& options, const std::string& command);

// Measures the machine when the season is new, and takes everything from the ledger when it goes
// on. Makes no ledger: a mistake in the options must leave none behind.
SeasonSetup make_setup(const SeasonOptions& options, ClusterPlace* place);

// Plays with the real referee, says on stderr what happens, and prints the scoreboard.
int play(const SeasonOptions& options, Ledger& ledger, const SeasonSetup& setup,
         ClusterPlace* place);

}  // namespace thresher::cli
