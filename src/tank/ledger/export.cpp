// SPDX-License-Identifier: Apache-2.0
#include "tank/ledger/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "measure/statistics.hpp"
#include "referee/fault.hpp"
#include "referee/statistics/json.hpp"
#include "referee/statistics/verdict.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;
constexpr double kUsPerMs = 1e3;

// What T4 wants to know of a `match` entry.
struct T4Match {
  const LedgerEntry& entry;
  std::string challenger;
  std::string suite;
  MatchSamples samples;
  Verdict verdict;
};

const Json& needed(const LedgerEntry& entry, const char* name) {
  const auto found = entry.data.find(name);
  if (found == entry.data.end()) throw Error(fmt::format("{}: missing", name));
  return *found;
}

std::string needed_text(const LedgerEntry& entry, const char* name) {
  const Json& value = needed(entry, name);
  if (!value.is_string()) throw Error(fmt::format("{}: expected text", name));
  return value.get<std::string>();
}

T4Match match_of(const LedgerEntry& entry) {
  try {
    return {.entry = entry,
            .challenger = needed_text(entry, "challenger"),
            .suite = needed_text(entry, "suite"),
            .samples = needed(entry, "samples").get<MatchSamples>(),
            .verdict = needed(entry, "verdict").get<Verdict>()};
  } catch (const Error& error) {
    throw Error(fmt::format("entry {}: {}", entry.id, error.what()));
  }
}

// What stands before the first `separator`; leaves in `rest` what stands behind it.
std::string_view take_until(char separator, std::string_view& rest) {
  const std::size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return head;
}

// A number where the whole text is one.
OrderedJson knob_value(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return text;
}

// "cpu_avx2:decode=direct,stages=4" as {contestant, suite, problem, decode, stages}. The name is
// taken apart as text, because the variant may be one that this thresher does not know.
OrderedJson configuration_of(const T4Match& match, const std::string& problem) {
  std::string_view rest = match.challenger;
  OrderedJson configuration = {{"contestant", take_until(':', rest)}, {"suite", match.suite}};
  if (!problem.empty()) configuration["problem"] = problem;
  while (!rest.empty()) {
    std::string_view setting = take_until(',', rest);
    const std::string knob(take_until('=', setting));
    configuration.emplace(knob, knob_value(setting));
  }
  return configuration;
}

std::vector<double> runtimes_ms(const MatchSamples& samples, const std::string& problem) {
  std::vector<double> runtimes;
  for (const HeatSamples& heat : samples.heats) {
    for (const Block& block : heat.match) {
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

void add_measurement(OrderedJson& list, const char* name, OrderedJson value,
                     const char* unit = "") {
  // An interval may be open, and JSON has no infinity.
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return;
  list.push_back({{"name", name}, {"value", std::move(value)}, {"unit", unit}});
}

OrderedJson measurements_of(const T4Match& match, const std::string& problem,
                            const std::vector<double>& runtimes) {
  OrderedJson list = OrderedJson::array();
  const ProblemEstimate* estimate = find_estimate(match.verdict, problem);
  if (!runtimes.empty()) {
    add_measurement(list, "time", measure::median(runtimes), "ms");
  } else if (estimate != nullptr) {
    add_measurement(list, "time", estimate->challenger_us / kUsPerMs, "ms");
  }
  if (estimate != nullptr) {
    add_measurement(list, "champion_time", estimate->champion_us / kUsPerMs, "ms");
    add_measurement(list, "speedup", estimate->speedup.value);
    add_measurement(list, "speedup_low", estimate->speedup.low);
    add_measurement(list, "speedup_high", estimate->speedup.high);
  }
  add_measurement(list, "verdict", to_string(match.verdict.kind));
  add_measurement(list, "source", match.entry.source);  // reported is never shown as measured
  add_measurement(list, "ledger_id", match.entry.id);
  return list;
}

OrderedJson result_of(const T4Match& match, const std::string& problem) {
  const std::vector<double> runtimes = runtimes_ms(match.samples, problem);
  const bool was_timed = !runtimes.empty() || find_estimate(match.verdict, problem) != nullptr;
  const std::string_view invalidity = invalidity_of(match.verdict, was_timed);
  return {{"timestamp", match.entry.time_utc},
          {"configuration", configuration_of(match, problem)},
          {"objectives", OrderedJson::array({"time"})},
          {"times", {{"runtimes", runtimes}}},
          {"invalidity", invalidity},
          {"correctness", invalidity == "correct" ? 1 : 0},
          {"measurements", measurements_of(match, problem, runtimes)}};
}

std::vector<std::string> problems_of(const T4Match& match) {
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

LedgerEntry entry_of_line(std::string_view line) {
  constexpr int kLineDepthMax = 102;  // of a line around data that is as deep as data may be
  const auto check_depth = [](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > kLineDepthMax) throw Error("it is nested too deep");
    return true;
  };
  try {
    const nlohmann::json json = nlohmann::json::parse(line, check_depth);
    return {.id = json.at("id"),
            .time_utc = json.at("time_utc"),
            .season = json.at("season"),
            .kind = json.at("kind"),
            .source = json.at("source"),
            .data = json.at("data"),
            .previous_hash = json.at("previous_hash"),
            .hash = json.at("hash")};
  } catch (const std::exception& error) {
    throw Error(fmt::format("it is no entry of an exported ledger: {}", error.what()));
  }
}

OrderedJson to_t4(const std::vector<LedgerEntry>& entries) {
  OrderedJson results = OrderedJson::array();
  for (const LedgerEntry& entry : entries) {
    if (entry.kind != "match") continue;
    const T4Match match = match_of(entry);
    for (const std::string& problem : problems_of(match)) {
      results.push_back(result_of(match, problem));
    }
  }
  return {{"schema_version", "1.0.0"},
          {"metadata", {{"timeunit", "milliseconds"}}},
          {"results", std::move(results)}};
}

}  // namespace thresher
