// SPDX-License-Identifier: Apache-2.0
#include "cli/match_report.hpp"

#include <fmt/format.h>

#include "cli/table.hpp"
#include "referee/statistics/json.hpp"

namespace thresher::cli {
namespace {

Tone tone_of(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kAccepted:
      return Tone::kGood;
    case VerdictKind::kUnclear:
      return Tone::kDim;
    default:
      return Tone::kBad;
  }
}

std::string interval_text(const Estimate& estimate) {
  return fmt::format("{:.3f} .. {:.3f}", estimate.low, estimate.high);
}

void print_estimate(const MatchEstimate& estimate) {
  Table table({{"problem"},
               {"champion us", Align::kRight},
               {"challenger us", Align::kRight},
               {"speedup", Align::kRight},
               {"95 % interval", Align::kRight}});
  for (const ProblemEstimate& problem : estimate.problems) {
    table.add_row({problem.problem, fmt::format("{:.1f}", problem.champion_us),
                   fmt::format("{:.1f}", problem.challenger_us),
                   fmt::format("{:.3f}", problem.speedup.value), interval_text(problem.speedup)});
  }
  table.add_row({"geomean", "", "", fmt::format("{:.3f}", estimate.speedup.value),
                 interval_text(estimate.speedup)});
  table.add_row({"control: champion, its copy", "", "",
                 fmt::format("{:.3f}", estimate.controls.same.value),
                 interval_text(estimate.controls.same)});
  table.add_row({fmt::format("control: slowed to {:.3f}", estimate.controls.slowed_truth), "", "",
                 fmt::format("{:.3f}", estimate.controls.slowed.value),
                 interval_text(estimate.controls.slowed)});
  print(table);
  fmt::print("\n");
}

}  // namespace

nlohmann::json match_json(const Match& match, const MatchRecord& record) {
  return {{"suite", match.suite.name},
          {"champion", match.champion.name},
          {"challenger", match.challenger.name},
          {"terms", match.terms},
          {"verdict", record.verdict},
          {"samples", record.samples},
          {"seed", record.seed},
          {"champion_hash", record.champion_hash},
          {"challenger_hash", record.challenger_hash},
          {"seconds", record.seconds},
          {"threads", match.options.thread_count},
          {"heats_min", match.options.analysis.heats_min},
          {"heats_max", match.options.analysis.heats_max},
          {"earlier_heats", record.earlier_heat_count},
          {"log", record.log}};
}

void print_tables(const Match& match, const MatchRecord& record, const std::string& goes_on_with) {
  const Verdict& verdict = record.verdict;
  if (verdict.estimate) print_estimate(*verdict.estimate);

  Table table({{""}, {""}});
  table.add_row({"verdict", Cell(std::string(to_string(verdict.kind)), tone_of(verdict.kind))});
  table.add_row({"decided by", verdict.check});
  table.add_row({"reason", verdict.reason});
  if (verdict.timing) table.add_row({"timed", to_string(*verdict.timing)});
  if (verdict.estimate) {
    table.add_row({"detectable", fmt::format("a gain of {:.1f} % in 9 of 10 such matches",
                                             100 * verdict.estimate->minimum_detectable_effect)});
  }
  if (verdict.estimate && verdict.estimate->left_out_count > 0) {
    table.add_row(
        {"left out", fmt::format("{} of {} blocks: the machine was disturbed",
                                 verdict.estimate->left_out_count, verdict.estimate->block_count)});
  }
  if (!goes_on_with.empty()) table.add_row({"goes on with", goes_on_with});
  table.add_row({"champion", match.champion.name});
  table.add_row({"challenger", match.challenger.name});
  table.add_row({"heats", fmt::format("{} in {:.1f} s, seed {}", record.samples.heats.size(),
                                      record.seconds, record.seed)});
  for (const std::string& missing : verdict.missing_protections) {
    table.add_row({"not protected by", Cell(missing, Tone::kDim)});
  }
  print(table);
}

}  // namespace thresher::cli
