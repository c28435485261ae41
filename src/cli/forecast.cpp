// SPDX-License-Identifier: Apache-2.0
// thresher forecast: what the model of time says of a B200 today, beside what was sealed.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/scoreboard_report.hpp"
#include "tank/forecast/forecasts.hpp"
#include "tank/forecast/scores.hpp"
#include "tank/ledger/export.hpp"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

struct ForecastOptions {
  fs::path output;
  bool json = false;
};

std::string now_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

// Null where the shipped chain is broken or missing, which is said.
std::optional<std::vector<LedgerEntry>> sealed() {
  try {
    return shipped_forecasts();
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return std::nullopt;
  }
}

void write_chain(const fs::path& path, const std::string& lines) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << lines;
  file.close();
  if (!file) {
    throw Error(fmt::format("cannot write '{}'; is its folder writable, and the disk not full?",
                            path.string()));
  }
}

// The same forecasts as those that were sealed are the same chain, of the same time.
int run_forecast(const ForecastOptions& options) {
  const std::optional<std::vector<LedgerEntry>> shipped = sealed();
  std::vector<LedgerEntry> entries = make_forecasts(shipped ? shipped->back().time_utc : now_utc());
  const bool same = shipped && shipped->back().hash == entries.back().hash;
  if (!same) entries = make_forecasts(now_utc());
  const std::string lines = to_json_lines(entries);
  if (!options.output.empty()) write_chain(options.output, lines);
  if (options.json) {
    fmt::print("{}", lines);
  } else {
    print_forecasts(*score_forecasts(entries));
    fmt::print("\n{}\n", same
                             ? "These are the forecasts that were sealed and ship with the program."
                             : "These differ from the forecasts that were sealed: the model has "
                               "changed since.");
  }
  return kExitOk;
}

}  // namespace

Command forecast_command() {
  const auto options = std::make_shared<ForecastOptions>();
  return {.name = "forecast",
          .what = "What the model of time foretells of a B200; sealed, never measured",
          .options = {{.name = "-o,--output",
                       .value = &options->output,
                       .what = "Write them as a hash-chained ledger, a JSON line per entry"},
                      json_flag(options->json)},
          .run = [options] { return run_forecast(*options); }};
}

}  // namespace thresher::cli
