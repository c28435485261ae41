// SPDX-License-Identifier: Apache-2.0
// thresher report: the ledger as one HTML page.
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/ledger_path.hpp"
#include "spelling.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kDefaultOutput = "out/report.html";

struct ReportOptions {
  std::filesystem::path ledger = kDefaultLedger;
  std::string season;
  std::filesystem::path output = kDefaultOutput;
  bool json = false;
};

// A season that is not there is more likely misspelt than empty.
void check_season(const Ledger& ledger, const std::string& season) {
  const std::vector<std::string> seasons = ledger.seasons();
  const bool known = std::find(seasons.begin(), seasons.end(), season) != seasons.end();
  if (season.empty() || known) return;
  throw UsageError(fmt::format("ledger '{}' has no season '{}'; it has: {}{}",
                               ledger.path().string(), season,
                               seasons.empty() ? "none" : fmt::to_string(fmt::join(seasons, ", ")),
                               did_you_mean(season, seasons)));
}

void check_output(const ReportOptions& options) {
  std::error_code error;
  if (std::filesystem::equivalent(options.output, options.ledger, error)) {
    throw UsageError(fmt::format("'{}' is the ledger itself; write the report to another file",
                                 options.output.string()));
  }
}

// Whole or not at all: a reader who reloads the page never sees half of one.
void write_page(const std::filesystem::path& path, const std::string& page) {
  const std::filesystem::path unfinished = path.string() + ".part";
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(unfinished, std::ios::binary);
  file << page;
  file.close();
  if (file) std::filesystem::rename(unfinished, path, error);
  if (file && !error) return;
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  throw Error(fmt::format("cannot write '{}'; is the folder writable, and the disk not full?",
                          path.string()));
}

int run_report(const ReportOptions& options) {
  const Ledger ledger = open_existing_ledger(options.ledger);
  check_season(ledger, options.season);
  check_output(options);
  const std::string page = report_page(ledger, options.season);
  write_page(options.output, page);
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"ledger", options.ledger.string()},
                                              {"output", options.output.string()},
                                              {"bytes", page.size()}}
                           .dump());
  } else {
    fmt::print("wrote {}; open it in any browser\n", options.output.string());
  }
  return kExitOk;
}

}  // namespace

Command report_command() {
  const auto options = std::make_shared<ReportOptions>();
  return {.name = "report",
          .what = "Write the ledger as one HTML page that needs nothing else",
          .options = {ledger_option(options->ledger),
                      {"--season", &options->season, "Only this season"},
                      {.name = "--output",
                       .value = &options->output,
                       .what = "The file to write",
                       .default_text = kDefaultOutput},
                      json_flag(options->json)},
          .run = [options] { return run_report(*options); }};
}

}  // namespace thresher::cli
