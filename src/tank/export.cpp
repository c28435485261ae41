// SPDX-License-Identifier: Apache-2.0
#include "tank/export.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "referee/fault.hpp"
#include "referee/json.hpp"
#include "referee/samples.hpp"
#include "referee/statistics.hpp"
#include "referee/verdict.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;
constexpr double kUsPerMs = 1e3;

// What T4 wants to know of a `match` entry.
struct Match {
  const LedgerEntry& entry;
  std::string challenger;
  std::string suite;
  MatchSamples samples;
  Verdict verdict;
};

const Json& field(const LedgerEntry& entry, const char* name) {
  const auto found = entry.data.find(name);
  if (found == entry.data.end()) throw Error(fmt::format("{}: missing", name));
  return *found;
}

std::string text_field(const LedgerEntry& entry, const char* name) {
  const Json& value = field(entry, name);
  if (!value.is_string()) throw Error(fmt::format("{}: expected text", name));
  return value.get<std::string>();
}

Match match_of(const LedgerEntry& entry) {
  try {
    return {.entry = entry,
            .challenger = text_field(entry, "challenger"),
            .suite = text_field(entry, "suite"),
            .samples = field(entry, "samples").get<MatchSamples>(),
            .verdict = field(entry, "verdict").get<Verdict>()};
  } catch (const Error& error) {
    throw Error(fmt::format("entry {}: {}", entry.id, error.what()));
  }
}

// A number where the whole text is one.
OrderedJson knob_value(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return text;
}

// "cpu_avx2:decode=direct,stages=4" as {contestant, decode, stages}. The name is taken apart as
// text, because the variant may be one of another thresher than this.
OrderedJson configuration_of(const Match& match, const std::string& problem) {
  const std::string_view name = match.challenger;
  const std::size_t colon = name.find(':');
  OrderedJson configuration = {{"contestant", name.substr(0, colon)}, {"suite", match.suite}};
  if (!problem.empty()) configuration["problem"] = problem;
  std::string_view rest = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view setting = rest.substr(0, comma);
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string knob(setting.substr(0, equals));
    configuration.emplace(knob, knob_value(setting.substr(std::min(equals + 1, setting.size()))));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return configuration;
}

std::vector<double> runtimes_ms(const MatchSamples& samples, const std::string& problem) {
  std::vector<double> runtimes;
  for (const RoundSamples& round : samples.rounds) {
    for (const Block& block : round.match) {
      if (samples.problems[static_cast<std::size_t>(block.problem_index)] != problem) continue;
      for (const double ns : block.b_ns) runtimes.push_back(ns / kNsPerMs);
    }
  }
  return runtimes;
}

// T4's six words for what became of a configuration.
std::string_view invalidity_of(const Verdict& verdict, bool was_timed) {
  namespace check = referee::check;
  if (verdict.kind == VerdictKind::kWrong) return "correctness";
  if (verdict.kind != VerdictKind::kInvalid) return was_timed ? "correct" : "timeout";
  if (verdict.check == check::kBuild) return "compile";
  if (verdict.check == check::kTimeout || verdict.check == check::kTime) return "timeout";
  for (const std::string_view broke_down :
       {check::kStart, check::kProtocol, check::kExit, check::kError}) {
    if (verdict.check == broke_down) return "runtime";
  }
  return "constraints";  // it ran, against the rules
}

const ProblemEstimate* find_estimate(const Verdict& verdict, const std::string& problem) {
  if (!verdict.estimate) return nullptr;
  for (const ProblemEstimate& estimate : verdict.estimate->problems) {
    if (estimate.problem == problem) return &estimate;
  }
  return nullptr;
}

class Measurements {
 public:
  void add(const char* name, double value, const char* unit) {
    // An interval may be open, and JSON has no infinity.
    if (std::isfinite(value)) push(name, value, unit);
  }
  void add(const char* name, std::string_view text) { push(name, text, ""); }

  OrderedJson take() { return std::move(list_); }

 private:
  void push(const char* name, OrderedJson value, const char* unit) {
    list_.push_back({{"name", name}, {"value", std::move(value)}, {"unit", unit}});
  }

  OrderedJson list_ = OrderedJson::array();
};

OrderedJson measurements_of(const Match& match, const std::string& problem,
                            const std::vector<double>& runtimes) {
  Measurements measurements;
  const ProblemEstimate* estimate = find_estimate(match.verdict, problem);
  if (!runtimes.empty()) {
    measurements.add("time", referee::median(runtimes), "ms");
  } else if (estimate != nullptr) {
    measurements.add("time", estimate->challenger_us / kUsPerMs, "ms");
  }
  if (estimate != nullptr) {
    measurements.add("champion_time", estimate->champion_us / kUsPerMs, "ms");
    measurements.add("speedup", estimate->speedup.value, "");
    measurements.add("speedup_low", estimate->speedup.low, "");
    measurements.add("speedup_high", estimate->speedup.high, "");
  }
  measurements.add("verdict", to_string(match.verdict.kind));
  measurements.add("source", match.entry.source);  // reported is never shown as measured
  measurements.add("ledger_id", static_cast<double>(match.entry.id), "");
  return measurements.take();
}

OrderedJson result_of(const Match& match, const std::string& problem) {
  const std::vector<double> runtimes = runtimes_ms(match.samples, problem);
  const bool was_timed = !runtimes.empty() || find_estimate(match.verdict, problem) != nullptr;
  const std::string_view invalidity = invalidity_of(match.verdict, was_timed);
  return {{"timestamp", match.entry.time_utc},
          {"configuration", configuration_of(match, problem)},
          {"objectives", {"time"}},
          {"times", {{"runtimes", runtimes}}},
          {"invalidity", invalidity},
          {"correctness", invalidity == "correct" ? 1 : 0},
          {"measurements", measurements_of(match, problem, runtimes)}};
}

std::vector<std::string> problems_of(const Match& match) {
  std::vector<std::string> problems = match.samples.problems;
  if (problems.empty() && match.verdict.estimate) {
    for (const ProblemEstimate& estimate : match.verdict.estimate->problems) {
      problems.push_back(estimate.problem);
    }
  }
  if (problems.empty()) problems.emplace_back();
  return problems;
}

}  // namespace

OrderedJson to_ordered_json(const LedgerEntry& entry) {
  return {{"id", entry.id},
          {"time_utc", entry.time_utc},
          {"season", entry.season},
          {"kind", entry.kind},
          {"source", entry.source},
          {"data", OrderedJson(entry.data)},
          {"previous_hash", entry.previous_hash},
          {"hash", entry.hash}};
}

std::string to_json_lines(const std::vector<LedgerEntry>& entries) {
  std::string lines;
  for (const LedgerEntry& entry : entries) lines += to_ordered_json(entry).dump() + '\n';
  return lines;
}

OrderedJson to_t4(const std::vector<LedgerEntry>& entries) {
  OrderedJson results = OrderedJson::array();
  for (const LedgerEntry& entry : entries) {
    if (entry.kind != "match") continue;
    const Match match = match_of(entry);
    for (const std::string& problem : problems_of(match)) {
      results.push_back(result_of(match, problem));
    }
  }
  return {{"schema_version", "1.0.0"},
          {"metadata", {{"timeunit", "milliseconds"}}},
          {"results", std::move(results)}};
}

}  // namespace thresher
