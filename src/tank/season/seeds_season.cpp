// SPDX-License-Identifier: Apache-2.0
#include "tank/season/seeds_season.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "assert.hpp"
#include "embedded_file.hpp"
#include "tank/pitch/toml_reader.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kSeasonBytesMax = std::size_t{1} << 20;
// The order of things within a round.
constexpr std::array<const char*, 8> kEntryKinds = {"constraint", "pitch",   "sheet",    "ballot",
                                                    "time",       "verdict", "champion", "round"};

Json to_json(const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = to_json(value);
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& item : *array) list.push_back(to_json(item));
    return list;
  }
  if (node.is_string()) return node.as_string()->get();
  if (node.is_integer()) return node.as_integer()->get();
  if (node.is_floating_point()) return node.as_floating_point()->get();
  THRESHER_ASSERT(node.is_boolean());
  return node.as_boolean()->get();
}

// What we compute is kept to a millionth, so that it is the same on every machine: an import must
// recognise what another has appended.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

double written_total(const ScoreSheet& sheet) {
  const std::string& text = sheet.total_as_written;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(fmt::format("the total {:?} is no number", text));
  }
  return value;
}

// Half a unit of the last digit written.
double rounding_of(const std::string& total) {
  const std::size_t point = total.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : total.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(decimals));
}

// The documents give ranges; the middle is ours, and geometric as everywhere.
Json claim_of(const Json& range) {
  const double low = range.at("low").get<double>();
  const double high = range.at("high").get<double>();
  return {{"value", rounded(std::sqrt(low * high))}, {"low", low}, {"high", high}};
}

void complete_pitch(Json& data) {
  data["suite"] = "seeds";
  data["claim"] = data.contains("claim") ? claim_of(data["claim"]) : Json();
  Json by_problem = Json::object();
  if (data.contains("claim_by_problem")) {
    for (const auto& [problem, range] : data["claim_by_problem"].items()) {
      by_problem[problem] = claim_of(range);
    }
  }
  data["claim_by_problem"] = std::move(by_problem);
  data["contestant"] = {{"kind", "reported"},
                        {"name", data.at("name")},
                        {"knobs", data.value("knobs", Json::object())}};
  data.erase("knobs");
  for (const char* text : {"bottleneck", "evidence"}) data.emplace(text, "");
}

void complete_ballot(Json& data) {
  data.emplace("reason", "");
  data.emplace("scores", Json::object());
  if (!data.contains("forecast")) {
    data["forecast"] = nullptr;
    return;
  }
  const Json range = data["forecast"];
  data["forecast"] = {{"p_works", nullptr},
                      {"log_speedup_median", nullptr},
                      {"log_speedup_low", rounded(std::log(range.at("low").get<double>()))},
                      {"log_speedup_high", rounded(std::log(range.at("high").get<double>()))}};
}

void complete_sheet(Json& data) {
  const ScoreSheet sheet{.scores = data.at("scores").get<std::map<std::string, double>>(),
                         .weights = data.at("weights").get<std::map<std::string, double>>(),
                         .total_as_written = data.at("total")};
  data.erase("total");
  data.update({{"scores", sheet.scores},
               {"weights", sheet.weights},
               {"total_on_sheet", written_total(sheet)},
               {"total_as_written", sheet.total_as_written},
               {"total_recomputed", recomputed_total(sheet)},
               {"wrong", is_wrong(sheet)}});
}

void complete_constraint(Json& data) { data["origin"] = data.at("document"); }

// Microseconds by problem of what was timed in a round.
std::map<std::string, double> times_of(const toml::table& root, const std::string& what) {
  std::map<std::string, double> times;
  for (const Json& time : to_json(*root.get("time"))) {
    if (time.at("what") == what) times[time.at("problem")] = time.at("microseconds");
  }
  return times;
}

// Nobody reported an interval: low and high are the worst and the best problem.
Json speedup_of(const toml::table& root, const Json& times) {
  const std::map<std::string, double> before = times_of(root, times.at("before"));
  const std::map<std::string, double> after = times_of(root, times.at("after"));
  std::vector<double> ratios;
  double log_sum = 0;
  for (const auto& [problem, microseconds] : before) {
    ratios.push_back(microseconds / after.at(problem));
    log_sum += std::log(ratios.back());
  }
  return {{"value", rounded(std::exp(log_sum / static_cast<double>(ratios.size())))},
          {"low", rounded(*std::min_element(ratios.begin(), ratios.end()))},
          {"high", rounded(*std::max_element(ratios.begin(), ratios.end()))},
          {"range", "over problems"}};
}

void complete_verdict(const toml::table& root, Json& data) {
  data["speedup"] = data.contains("times") ? speedup_of(root, data["times"]) : Json();
  data.erase("times");
  data["control"] = false;
}

void complete_round(Json& data) { data["ranking"] = Json::array(); }

class SeedsSeason {
 public:
  explicit SeedsSeason(toml::table root) : root_(std::move(root)) {}

  std::vector<ReportedEntry> entries() {
    add("season", to_json(*root_.get("season")));
    const std::size_t round_count = root_.get("round")->as_array()->size();
    for (std::size_t round = 1; round <= round_count; ++round) {
      for (const char* kind : kEntryKinds) add_round(kind, round);
    }
    return std::move(entries_);
  }

 private:
  void add_round(const std::string& kind, std::size_t round) {
    for (Json& data : list_of(kind)) {
      if (data.at("round") == round) add(kind, std::move(data));
    }
  }

  Json list_of(const std::string& kind) const { return to_json(*root_.get(kind)); }

  void add(const std::string& kind, Json data) {
    const toml::table& documents = *root_.get("documents")->as_table();
    data["document"] = to_json(*documents.get(data.at("document").get<std::string>()));
    if (kind == "pitch") complete_pitch(data);
    if (kind == "ballot") complete_ballot(data);
    if (kind == "sheet") complete_sheet(data);
    if (kind == "constraint") complete_constraint(data);
    if (kind == "verdict") complete_verdict(root_, data);
    if (kind == "round") complete_round(data);
    entries_.push_back({kind, std::move(data)});
  }

  toml::table root_;
  std::vector<ReportedEntry> entries_;
};

// What was said of one pitch, as far as it can be scored.
struct PitchStatement {
  std::string shark;
  std::optional<double> p_works;
  std::optional<NormalForecast> size;
};

PitchStatement statement_of(const Json& ballot) {
  const Json& forecast = field(ballot, "forecast");
  const std::optional<double> low = number_field(forecast, "log_speedup_low");
  const std::optional<double> high = number_field(forecast, "log_speedup_high");
  const std::optional<double> median = number_field(forecast, "log_speedup_median");
  PitchStatement statement{.shark = text_field(ballot, "shark"),
                           .p_works = number_field(forecast, "p_works")};
  if (!statement.p_works && flag_field(ballot, "vote")) statement.p_works = kVoteMeans;
  if (low && high) {
    statement.size = normal_forecast({.log_speedup_median = median.value_or((*low + *high) / 2),
                                      .log_speedup_low = *low,
                                      .log_speedup_high = *high});
  }
  return statement;
}

std::map<std::string, double> losses(const std::vector<PitchStatement>& statements,
                                     const Json& verdict) {
  const std::string kind = text_field(verdict, "kind");
  const std::optional<double> value = number_field(field(verdict, "speedup"), "value");
  std::map<std::string, double> loss;
  for (const PitchStatement& statement : statements) {
    ForecastScore score;
    if (statement.p_works && kind != "unclear") {
      score.brier = brier(*statement.p_works, kind == "accepted");
    }
    if (statement.size && value && *value > 0) {
      score.crps = crps(*statement.size, std::log(*value), 0);
    }
    if (score.is_resolved()) loss[statement.shark] = score.loss();
  }
  return loss;
}

}  // namespace

std::vector<ReportedEntry> seeds_season_entries() {
  TomlReader reader("seasons/seeds.toml");
  std::optional<toml::table> root =
      reader.parse(embedded_text(kSeasonFiles, kSeedsSeason), kSeasonBytesMax);
  if (!root) throw Error(reader.faults().front());
  return SeedsSeason(std::move(*root)).entries();
}

std::size_t import_seeds_season(Ledger& ledger) {
  std::set<std::pair<std::string, std::string>> present;
  for (const LedgerEntry& entry : ledger.entries(kSeedsSeason)) {
    if (entry.source == "reported") present.emplace(entry.kind, entry.data.dump());
  }
  std::size_t appended_count = 0;
  for (const ReportedEntry& entry : seeds_season_entries()) {
    if (present.contains({entry.kind, entry.data.dump()})) continue;
    ledger.append(kSeedsSeason, entry.kind, "reported", entry.data);
    ++appended_count;
  }
  return appended_count;
}

double recomputed_total(const ScoreSheet& sheet) {
  // Decimal fractions are not exact in binary; their sum is, to a millionth.
  return rounded(weighted_score({.scores = sheet.scores}, {.name = "", .weights = sheet.weights}));
}

bool is_wrong(const ScoreSheet& sheet) {
  // 8.75 may be written as 8.7 or as 8.8: half a unit is still right.
  constexpr double kBinaryRounding = 1e-9;
  return std::abs(written_total(sheet) - recomputed_total(sheet)) >
         rounding_of(sheet.total_as_written) + kBinaryRounding;
}

std::vector<RoundCredibilities> replayed_credibilities(const std::vector<LedgerEntry>& entries) {
  std::map<std::pair<int, std::string>, std::vector<PitchStatement>> statements;
  std::set<std::string> sharks;
  std::vector<RoundCredibilities> rounds;
  Credibilities weights;
  for (const LedgerEntry& entry : entries) {
    const Json& data = entry.data;
    const int round = static_cast<int>(number_field(data, "round").value_or(0));
    if (entry.kind == "ballot") {
      statements[{round, text_field(data, "pitch")}].push_back(statement_of(data));
      sharks.insert(text_field(data, "shark"));
    } else if (entry.kind == "verdict" && !sharks.empty()) {
      weights = credibilities_for({sharks.begin(), sharks.end()}, weights);
      weights = updated(weights, losses(statements[{round, text_field(data, "pitch")}], data),
                        learning_rate(sharks.size()));
      if (rounds.empty() || rounds.back().round != round) rounds.push_back({.round = round});
      rounds.back().weights = weights;
    }
  }
  return rounds;
}

}  // namespace thresher
