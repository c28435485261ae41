// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/selection.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"

namespace thresher::cli {
namespace {

using Json = nlohmann::ordered_json;

// Thread counts are the one way to run that has an option; other backends run all of theirs.
std::string repeat_argument(const std::string& way) {
  const std::size_t space = way.find(" thread");
  return space == std::string::npos ? "" : " --threads " + way.substr(0, space);
}

// A broken kernel fails everywhere; the first cases tell as much as all of them.
constexpr std::size_t kFailuresShownMax = 10;

}  // namespace

std::string repeat_command(const Failure& failure) {
  std::string command =
      fmt::format("{} verify --backend {}{} {} {} --problem {} --family {} --seed {}", called_as(),
                  failure.backend, failure.device.empty() ? "" : " --device " + failure.device,
                  failure.suite_option, shell_quoted(failure.suite_argument), failure.problem,
                  failure.family, failure.seed);
  std::vector<std::string> variants{failure.runner.variant};
  std::vector<std::string> ways{failure.runner.way};
  if (failure.finding.twin) {
    // The twin first: its bits are the ones that the runner missed.
    variants.insert(variants.begin(), failure.finding.twin->variant);
    ways.insert(ways.begin(), failure.finding.twin->way);
  }
  for (const std::string& variant : distinct(variants)) command += " --variant " + variant;
  for (const std::string& way : distinct(ways)) command += repeat_argument(way);
  return command;
}

std::string threads_way(int thread_count) {
  return fmt::format("{} thread{}", thread_count, thread_count == 1 ? "" : "s");
}

std::int64_t VerifyReport::Tally::skipped_count() const {
  std::int64_t count = 0;
  for (const auto& [reason, times] : skipped) count += times;
  return count;
}

VerifyReport::Tally& VerifyReport::tally_of(const std::string& variant) {
  for (NamedTally& named : tallies_) {
    if (named.variant == variant) return named.tally;
  }
  return tallies_.emplace_back(NamedTally{variant, {}}).tally;
}

void VerifyReport::add_checked(const Runner& runner, const std::string& problem,
                               const Finding& finding) {
  Tally& tally = tally_of(runner.variant);
  tally.problems.insert(problem);
  ++tally.check_count;
  if (!finding.ok) ++tally.failed_count;
  tally.max_error_over_bound = std::max(tally.max_error_over_bound, finding.max_error_over_bound);
}

void VerifyReport::add_skipped(const Runner& runner, const std::string& why) {
  ++tally_of(runner.variant).skipped[why];
}

void VerifyReport::append(VerifyReport later) {
  for (NamedTally& named : later.tallies_) {
    Tally& tally = tally_of(named.variant);
    tally.problems.merge(named.tally.problems);
    tally.check_count += named.tally.check_count;
    tally.failed_count += named.tally.failed_count;
    tally.max_error_over_bound =
        std::max(tally.max_error_over_bound, named.tally.max_error_over_bound);
    for (const auto& [why, times] : named.tally.skipped) tally.skipped[why] += times;
  }
  std::move(later.failures_.begin(), later.failures_.end(), std::back_inserter(failures_));
}

std::int64_t VerifyReport::check_count() const {
  std::int64_t count = 0;
  for (const NamedTally& named : tallies_) count += named.tally.check_count;
  return count;
}

void VerifyReport::print_tables(std::uint64_t seed) const {
  Table table({{"variant"},
               {"problems", Align::kRight},
               {"checks", Align::kRight},
               {"skipped", Align::kRight},
               {"failed", Align::kRight},
               {"worst error/bound", Align::kRight}});
  std::map<std::string, std::int64_t> reasons;
  for (const auto& [variant, tally] : tallies_) {
    const Tone tone = tally.failed_count > 0 ? Tone::kBad : Tone::kGood;
    table.add_row({variant, fmt::format("{}", tally.problems.size()),
                   fmt::format("{}", tally.check_count), fmt::format("{}", tally.skipped_count()),
                   Cell(fmt::format("{}", tally.failed_count), tone),
                   fmt::format("{:.3f}", tally.max_error_over_bound)});
    for (const auto& [reason, count] : tally.skipped) reasons[reason] += count;
  }
  print(table);
  for (const auto& [reason, count] : reasons) fmt::print("skipped {}: {}\n", count, reason);
  for (std::size_t i = 0; i < std::min(failures_.size(), kFailuresShownMax); ++i) {
    const Failure& failure = failures_[i];
    fmt::print("\nfailed: {} {}, {} inputs, {}\n  {}\n  repeat: {}\n", failure.suite,
               failure.problem, failure.family, failure.runner.name(), failure.finding.what,
               repeat_command(failure));
  }
  if (failures_.size() > kFailuresShownMax) {
    fmt::print("\nand {} more; --json lists all of them\n", failures_.size() - kFailuresShownMax);
  }
  fmt::print("{} checks, {} failed (seed {})\n", check_count(), failures_.size(), seed);
}

void VerifyReport::print_json(std::uint64_t seed) const {
  Json variants = Json::array();
  for (const auto& [variant, tally] : tallies_) {
    variants.push_back({{"variant", variant},
                        {"problems", tally.problems.size()},
                        {"checks", tally.check_count},
                        {"skipped", tally.skipped_count()},
                        {"failed", tally.failed_count},
                        {"max_error_over_bound", tally.max_error_over_bound},
                        {"skip_reasons", tally.skipped}});
  }
  Json failures = Json::array();
  for (const Failure& failure : failures_) {
    failures.push_back({{"suite", failure.suite},
                        {"problem", failure.problem},
                        {"family", failure.family},
                        {"variant", failure.runner.variant},
                        {"way", failure.runner.way},
                        {"what", failure.finding.what},
                        {"repeat", repeat_command(failure)}});
  }
  const Json report{{"ok", failures_.empty() && check_count() > 0},
                    {"seed", seed},
                    {"checks", check_count()},
                    {"failed", failures_.size()},
                    {"variants", std::move(variants)},
                    {"failures", std::move(failures)}};
  fmt::print("{}\n", report.dump());
}

}  // namespace thresher::cli
