// SPDX-License-Identifier: Apache-2.0
#include "tank/forecast/forecasts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>

#include "digest/sha256.hpp"
#include "embedded_file.hpp"
#include "engine/backends.hpp"
#include "gemm/suite.hpp"
#include "referee/statistics/distributions.hpp"
#include "tank/ledger/export.hpp"
#include "tank/panel/shark.hpp"
#include "tank/pitch/shipped_pitches.hpp"
#include "tank/season/seeds_season.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

constexpr const char* kPredicted = "predicted";

// Where a season on a B200 begins: gpu/sm100/choose.hpp's baseline.
constexpr const char* kBaseline = "gpu_sm100:stages=2,launches=per_group,dual=two_pass";

// Eight of ten times shall be within a factor of 1.8 of the model, which was fitted to nothing.
constexpr double kLogTimeSd = 0.4587;
// What the unfitted model adds to the Theorist's doubt of a speedup.
constexpr double kLogSpeedupSd = 0.15;

constexpr const char* kTimedSuites[] = {"seeds", "dual", "decode", "tank_gpu"};
constexpr const char* kSeasonSuites[] = {"seeds", "tank_gpu"};

Json basis() {
  const Machine machine = published_b200();
  const auto number = [](double value, const char* source) {
    return Json{{"value", value}, {"source", source}};
  };
  return {
      {"device", "B200"},
      {"compute_capability", machine.limits.compute_capability},
      {"sm_count",
       number(machine.limits.sm_count,
              "a B200's driver, pytorch/ao pull 4002; 74 of each die, Chips and Cheese, "
              "Nvidia's B200")},
      {"read_gb_per_s",
       number(machine.rates.read_gb_per_s,
              "measured on a B200, gau-nernst/gpu-mode-kernels nvidia/README.md at aee9cda")},
      {"nvfp4_gop_per_s",
       number(machine.rates.nvfp4_gop_per_s,
              "measured on a B200, gau-nernst/gpu-mode-kernels nvidia/README.md at aee9cda")},
      {"fp16_gop_per_s", number(machine.rates.fp16_gop_per_s,
                                "a quarter of the NVFP4 rate, as in NVIDIA's data sheets")},
      {"mma_columns_to_read_a",
       number(
           64,
           "128 bytes a cycle from shared memory, below 128 columns slower than the MMA: measured "
           "on a B200, SemiAnalysis, Dissecting Nvidia Blackwell, 2026-03-31, as summarised")},
      {"l2_gb_per_s", number(10000, "a guess: more than memory's, of which nobody says how much")},
      {"k_step_overhead_ns", number(15, "a guess, of 64 k")},
      {"tile_finish_ns", number(2000, "a guess")},
      {"parts_ns", number(4000, "a guess, of tiles cut along k; half of it at least")},
      {"launch_us", number(2, "measured on an H200; of a B200 a guess")},
      {"time_log_sd", number(kLogTimeSd, "a judgement: a factor of 1.8 holds eight of ten")},
      {"speedup_log_sd", number(kLogSpeedupSd, "a judgement, beside the Theorist's own doubt")}};
}

// The same on every machine: what the model computes is kept to a ten-thousandth.
double to_four_places(double value) { return std::round(value * 1e4) / 1e4; }

Json forecast_of_time(const Suite& suite, const Problem& problem, const std::string& variant) {
  const double us = backend_of_variant(variant).model(problem, variant, published_b200()).us;
  const double factor = std::exp(referee::kNormalQuantile90 * kLogTimeSd);
  return {{"what", "time"},
          {"suite", suite.name},
          {"problem", problem.name},
          {"variant", variant},
          {"us",
           {{"median", to_four_places(us)},
            {"low", to_four_places(us / factor)},
            {"high", to_four_places(us * factor)}}}};
}

void add_times(const Suite& suite, std::vector<Json>& forecasts) {
  const Machine machine = published_b200();
  for (const Problem& problem : suite.problems) {
    const std::string choice =
        backend_of_variant(kBaseline).choose(problem, token_count(problem), machine);
    forecasts.push_back(forecast_of_time(suite, problem, kBaseline));
    forecasts.push_back(forecast_of_time(suite, problem, choice));
  }
}

Forecast widened(Forecast forecast) {
  const NormalForecast normal = normal_forecast(forecast);
  const double half = referee::kNormalQuantile90 * std::hypot(normal.sd, kLogSpeedupSd);
  forecast.p_works = to_four_places(forecast.p_works);
  forecast.log_speedup_low = to_four_places(normal.mean - half);
  forecast.log_speedup_median = to_four_places(normal.mean);
  forecast.log_speedup_high = to_four_places(normal.mean + half);
  return forecast;
}

// Over the variant that a season begins with. What cannot run there is foretold to be refused.
Json forecast_of_pitch(const Suite& suite, Pitch pitch) {
  Json data{{"what", "speedup"},
            {"suite", suite.name},
            {"pitch", pitch.name},
            {"champion", kBaseline},
            {"challenger", nullptr},
            {"claim",
             {{"value", pitch.claim.value}, {"low", pitch.claim.low}, {"high", pitch.claim.high}}},
            {"forecast", nullptr},
            {"refused", ""}};
  const Machine machine = published_b200();
  const Contestant champion = variant_named(kBaseline);
  try {
    pitch.contestant = contestant_against(pitch, champion);
  } catch (const Error& error) {
    data["refused"] = error.what();
    return data;
  }
  if (pitch.contestant.kind != ContestantKind::kVariant) {
    data["refused"] = "foreign code: the model of time knows nothing of it";
    return data;
  }
  data["challenger"] = pitch.contestant.variant;
  data["refused"] = first_refusal(pitch.contestant.variant, suite, machine);
  if (pitch.contestant.variant == kBaseline) data["refused"] = "it turns nothing there";
  if (data["refused"] != "") return data;
  const Ballot ballot = theorist({.suite = suite,
                                  .machine = machine,
                                  .champion = champion,
                                  .champion_us = {},
                                  .terms = {}})
                            .judge(pitch);
  data["forecast"] = widened(ballot.forecast);
  return data;
}

// A knob of the founding season's contestants in the words of the variants here: their tile is
// tokens x weights x k.
std::pair<std::string, std::string> turned_knob(const std::string& knob, const std::string& value) {
  return knob == "tile"
             ? std::pair<std::string, std::string>("tokens", value.substr(0, value.find('x')))
             : std::pair(knob, value);
}

// The founding season's own contestants, as far as its documents say what they turned and claimed.
std::vector<Pitch> pitches_of_seeds() {
  std::vector<Pitch> pitches;
  for (const ReportedEntry& entry : seeds_season_entries()) {
    const Json& knobs = field(field(entry.data, "contestant"), "knobs");
    const Json& claim = field(entry.data, "claim");
    if (entry.kind != "pitch" || knobs.empty() || claim.is_null()) continue;
    Pitch pitch{.name = fmt::format("seeds: {}", text_field(entry.data, "name")),
                .backend = "gpu",
                .family = text_field(entry.data, "family"),
                .bottleneck = text_field(entry.data, "bottleneck"),
                .claim = {claim.at("value"), claim.at("low"), claim.at("high")}};
    for (const auto& [knob, value] : knobs.items()) pitch.knobs.insert(turned_knob(knob, value));
    pitches.push_back(std::move(pitch));
  }
  return pitches;
}

std::vector<Pitch> pitches_for_gpus() {
  std::vector<Pitch> pitches;
  for (const ShippedPitch& shipped : shipped_pitches()) {
    if (shipped.folder != "pitches/gpu") continue;
    pitches.push_back(
        parse_pitch(shipped.text, shipped.name + ".toml", {.folder = {}, .stem = shipped.name}));
  }
  return pitches;
}

void add_pitches(const Suite& suite, std::vector<Json>& forecasts) {
  for (const Pitch& pitch : pitches_of_seeds())
    forecasts.push_back(forecast_of_pitch(suite, pitch));
  for (const Pitch& pitch : pitches_for_gpus())
    forecasts.push_back(forecast_of_pitch(suite, pitch));
}

// Entries of one season, each with the hash of the one before.
class Chain {
 public:
  explicit Chain(std::string time_utc) : time_utc_(std::move(time_utc)) {}

  void add(const std::string& kind, Json data) {
    LedgerEntry entry{.id = static_cast<std::int64_t>(entries_.size()) + 1,
                      .time_utc = time_utc_,
                      .season = kForecastsSeason,
                      .kind = kind,
                      .source = kPredicted,
                      .data = std::move(data),
                      .previous_hash = entries_.empty() ? kFirstPreviousHash : entries_.back().hash,
                      .hash = {}};
    entry.hash = entry_hash(entry);
    entries_.push_back(std::move(entry));
  }

  std::vector<LedgerEntry> sealed() && {
    Json data = basis();
    data["forecast_count"] = entries_.size();
    data["hash"] = seal_of(entries_);
    data["sealed_utc"] = time_utc_;
    add(kForecastsKind, std::move(data));
    return std::move(entries_);
  }

 private:
  std::string time_utc_;
  std::vector<LedgerEntry> entries_;
};

void check_follows(const LedgerEntry& entry, const std::string& previous_hash) {
  if (entry.source != kPredicted) {
    throw Error(fmt::format("its source is {:?}, not predicted", entry.source));
  }
  if (entry.previous_hash != previous_hash) {
    throw Error("it does not carry the hash of the one before");
  }
  if (entry.hash != entry_hash(entry)) throw Error("its hash does not match its contents");
}

}  // namespace

Machine published_b200() {
  return {.rates = {.read_gb_per_s = 5914.8,
                    .nvfp4_gop_per_s = 5797000,
                    .fp16_gop_per_s = 1449250,
                    .bf16_gop_per_s = 1449250},
          .thread_count = 1,
          .limits = {.compute_capability = 100, .sm_count = 148}};
}

bool is_forecast(const SmLimits& limits) {
  return limits.compute_capability == published_b200().limits.compute_capability;
}

std::vector<LedgerEntry> make_forecasts(const std::string& time_utc) {
  std::vector<Json> forecasts;
  for (const char* suite : kTimedSuites) add_times(load_suite(suite), forecasts);
  for (const char* suite : kSeasonSuites) add_pitches(load_suite(suite), forecasts);
  Chain chain(time_utc);
  for (Json& forecast : forecasts) chain.add(kForecastKind, std::move(forecast));
  return std::move(chain).sealed();
}

std::string seal_of(const std::vector<LedgerEntry>& entries) {
  Json all = Json::array();
  for (const LedgerEntry& entry : entries) {
    if (entry.kind == kForecastKind) all.push_back(entry.data);
  }
  return sha256_hex(all.dump());
}

std::vector<LedgerEntry> read_forecasts(std::string_view json_lines, const std::string& source) {
  std::vector<LedgerEntry> entries;
  std::string previous = kFirstPreviousHash;
  for (int number = 1; !json_lines.empty(); ++number) {
    const std::size_t end = std::min(json_lines.find('\n'), json_lines.size());
    try {
      entries.push_back(entry_of_line(json_lines.substr(0, end)));
      check_follows(entries.back(), previous);
    } catch (const Error& error) {
      throw Error(fmt::format("{}:{}: {}", source, number, error.what()));
    }
    json_lines.remove_prefix(std::min(end + 1, json_lines.size()));
    previous = entries.back().hash;
  }
  if (entries.empty() || entries.back().kind != kForecastsKind ||
      text_field(entries.back().data, "hash") != seal_of(entries)) {
    throw Error(fmt::format("{}: the forecasts are not sealed by their last entry", source));
  }
  return entries;
}

std::vector<LedgerEntry> shipped_forecasts() {
  return read_forecasts(embedded_text(kForecastFiles, "forecasts"), "results/b200/forecasts.jsonl");
}

void append_forecasts(Ledger& ledger, const std::string& season,
                      const std::vector<LedgerEntry>& forecasts) {
  std::set<std::string> present;
  for (const LedgerEntry& entry : ledger.entries(season)) {
    if (entry.source == kPredicted) present.insert(entry.data.dump());
  }
  for (const LedgerEntry& entry : forecasts) {
    if (present.contains(entry.data.dump())) continue;
    ledger.append(season, entry.kind, kPredicted, entry.data);
  }
}

}  // namespace thresher
