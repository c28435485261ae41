// SPDX-License-Identifier: Apache-2.0
// thresher report: ledgers, and plans beside them, as one HTML page.
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
constexpr int kLinksMax = 40;  // as Linux

struct ReportOptions {
  std::vector<std::filesystem::path> ledgers;
  std::string season;
  std::vector<std::filesystem::path> plans;
  std::vector<std::filesystem::path> searches;
  std::filesystem::path output = kDefaultOutput;
  bool json = false;
};

// A season that is not there is more likely misspelt than empty.
void check_season(const std::vector<Ledger>& ledgers, const std::string& season) {
  std::vector<std::string> seasons;
  std::vector<std::string> paths;
  for (const Ledger& ledger : ledgers) {
    for (const std::string& name : ledger.seasons()) seasons.push_back(name);
    paths.push_back(ledger.path().string());
  }
  const bool known = std::find(seasons.begin(), seasons.end(), season) != seasons.end();
  if (season.empty() || known) return;
  throw UsageError(fmt::format("ledger '{}' has no season '{}'; it has: {}{}",
                               fmt::join(paths, "', '"), season,
                               seasons.empty() ? "none" : fmt::to_string(fmt::join(seasons, ", ")),
                               did_you_mean(season, seasons)));
}

void check_output(const ReportOptions& options) {
  for (const auto* paths : {&options.ledgers, &options.plans, &options.searches}) {
    for (const std::filesystem::path& path : *paths) {
      std::error_code error;
      if (!std::filesystem::equivalent(options.output, path, error)) continue;
      throw UsageError(fmt::format(
          "'{}' is {} itself; write the report to another file", options.output.string(),
          paths == &options.ledgers ? "the ledger" : "what it is made of"));
    }
  }
}

// Plans and searches need no ledger beside them; otherwise there is a usual one.
std::vector<Ledger> ledgers_of(ReportOptions& options) {
  if (options.ledgers.empty() && options.plans.empty() && options.searches.empty()) {
    options.ledgers = {kDefaultLedger};
  }
  std::vector<Ledger> ledgers;
  for (const std::filesystem::path& path : options.ledgers) {
    ledgers.push_back(open_existing_ledger(path));
  }
  return ledgers;
}

ReportSources sources_of(const ReportOptions& options, const std::vector<Ledger>& ledgers) {
  ReportSources sources{.ledgers = {}, .season = options.season};
  for (const Ledger& ledger : ledgers) sources.ledgers.push_back(&ledger);
  for (const std::filesystem::path& path : options.plans) {
    for (MachinePlan& plan : read_plan_file(path).machines) {
      sources.plans.push_back(std::move(plan));
    }
  }
  for (const std::filesystem::path& path : options.searches) {
    for (report::SimulatedSearch& one : report::read_simulated_searches(path)) {
      sources.searches.push_back(std::move(one));
    }
  }
  return sources;
}

// Whole or not at all: a reader who reloads the page never sees half of one. Links are followed;
// what is no file, such as /dev/stdout, is written to as it is.
void write_page(const std::filesystem::path& output, const std::string& page) {
  std::error_code error;
  std::filesystem::path path = output;
  for (int links = 0; links < kLinksMax && std::filesystem::is_symlink(path, error); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  const bool is_other = std::filesystem::exists(path, error) &&
                        !std::filesystem::is_regular_file(path, error) &&
                        !std::filesystem::is_directory(path, error);
  std::filesystem::path unfinished = path;
  if (!is_other) unfinished += ".part";
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(unfinished, std::ios::binary);
  file << page;
  file.close();
  if (file && !is_other) std::filesystem::rename(unfinished, path, error);
  if (file && !error) return;
  std::error_code ignored;
  if (!is_other) std::filesystem::remove(unfinished, ignored);
  throw Error(
      fmt::format("cannot write '{}' (--output); is the folder writable, and the disk not full?",
                  output.string()));
}

int run_report(ReportOptions& options) {
  const std::vector<Ledger> ledgers = ledgers_of(options);
  check_season(ledgers, options.season);
  check_output(options);
  const std::string page = report_page(sources_of(options, ledgers));
  write_page(options.output, page);
  if (options.json) {
    std::vector<std::string> paths;
    for (const Ledger& ledger : ledgers) paths.push_back(ledger.path().string());
    fmt::print("{}\n",
               nlohmann::ordered_json{
                   {"ledgers", paths}, {"output", options.output.string()}, {"bytes", page.size()}}
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
          .what = "Write ledgers and plans as one HTML page that needs nothing else",
          .options = {{.name = "--ledger",
                       .value = &options->ledgers,
                       .what = "One or more ledgers; of several machines side by side",
                       .default_text = kDefaultLedger},
                      {"--season", &options->season, "Only this season"},
                      {"--plan", &options->plans,
                       "Plans of 'thresher tune', machines side by side, with how they were found"},
                      {"--search", &options->searches,
                       "What 'thresher tune --simulate --json' printed, as charts"},
                      {.name = "--output",
                       .value = &options->output,
                       .what = "The file to write",
                       .default_text = kDefaultOutput},
                      json_flag(options->json)},
          .run = [options] { return run_report(*options); }};
}

}  // namespace thresher::cli
