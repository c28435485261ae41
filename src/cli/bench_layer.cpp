// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backend/backend.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "gemm/speed_of_light.hpp"
#include "measure/layer_trial.hpp"

namespace thresher::cli {
namespace {

using measure::LayerModel;
using measure::LayerTiming;
using measure::LayerTrial;

std::int64_t expert_limit(const Engine& engine, const LayerModel& model, int asked) {
  const double bytes = engine.state().row().timed_weight_bytes;
  if (asked > 0 || bytes == 0) return asked;
  const auto fitting = static_cast<std::int64_t>(bytes / model.expert_bytes());
  return std::clamp(fitting, std::max<std::int64_t>(model.top_k, 1), model.expert_count);
}

struct LayerRow {
  std::string device;
  const LayerModel& model;
  const LayerTiming& timing;
  Activations activations;
  std::string routing;
  bool batch_invariant;
  const backend::Ceilings& ceilings;

  double floor_us() const {
    return speed_of_light(timing.weight_bytes, timing.operations, activations, ceilings.rates)
        .floor_us();
  }
  double share() const { return floor_us() / timing.us.median; }
  double gb_per_s() const { return 1e-3 * timing.weight_bytes / timing.us.median; }
  double gflops() const { return 1e-3 * timing.operations / timing.us.median; }
  double over_products() const {
    const double products = timing.products_us.median;
    return products > 0 ? timing.us.median / products : 0;
  }
};

void print_json_line(const LayerRow& row) {
  const LayerTiming& timing = row.timing;
  nlohmann::ordered_json ceilings = nlohmann::ordered_json::object();
  for (const auto& [name, value] : row.ceilings.values) ceilings[name] = value;
  const nlohmann::ordered_json line{{"layer", row.model.name},
                                    {"hidden", row.model.hidden},
                                    {"intermediate", row.model.intermediate},
                                    {"experts", row.model.expert_count},
                                    {"top_k", row.model.top_k},
                                    {"device", row.device},
                                    {"activations", to_string(row.activations)},
                                    {"routing", row.routing},
                                    {"batch_invariant", row.batch_invariant},
                                    {"tokens", timing.token_count},
                                    {"median_us", timing.us.median},
                                    {"low_us", timing.us.low},
                                    {"high_us", timing.us.high},
                                    {"products_us", timing.products_us.median},
                                    {"over_products", row.over_products()},
                                    {"host_us", timing.host_us},
                                    {"sort_us", timing.sort_us},
                                    {"experts_touched", timing.experts_touched},
                                    {"rows", timing.rows},
                                    {"weight_gb_per_s", row.gb_per_s()},
                                    {"gflops", row.gflops()},
                                    {"speed_of_light_us", row.floor_us()},
                                    {"share_of_light", row.share()},
                                    {"max_error_over_bound", timing.error_over_bound},
                                    {"kernel_launches", timing.launch_count},
                                    {"variants", timing.variants},
                                    {"timed", timing.timed},
                                    {"ceilings", std::move(ceilings)}};
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

Table empty_table() {
  return Table({{"layer"},
                {"tokens", Align::kRight},
                {"median us", Align::kRight},
                {"experts", Align::kRight},
                {"GB/s", Align::kRight},
                {"GFLOP/s", Align::kRight},
                {"floor us", Align::kRight},
                {"share", Align::kRight},
                {"/ products", Align::kRight},
                {"error", Align::kRight}});
}

void add_row(Table& table, const LayerRow& row) {
  table.add_row({row.model.name, fmt::format("{}", row.timing.token_count),
                 fmt::format("{:.1f}", row.timing.us.median),
                 fmt::format("{:.1f}", row.timing.experts_touched),
                 fmt::format("{:.1f}", row.gb_per_s()), fmt::format("{:.0f}", row.gflops()),
                 fmt::format("{:.1f}", row.floor_us()), fmt::format("{:.2f}", row.share()),
                 row.over_products() > 0 ? fmt::format("{:.2f}", row.over_products()) : "-",
                 fmt::format("{:.3f}", row.timing.error_over_bound)});
}

}  // namespace

std::vector<LayerModel> layer_models_of(const std::vector<std::string>& texts) {
  std::vector<LayerModel> models;
  for (const std::string& text : texts) {
    if (text == "all") {
      const auto& all = measure::layer_models();
      models.insert(models.end(), all.begin(), all.end());
      continue;
    }
    try {
      models.push_back(measure::layer_model_from_text(text));
    } catch (const Error& error) {
      throw UsageError(error.what());
    }
  }
  return models;
}

std::vector<int> token_counts_of(const std::vector<std::string>& texts) {
  constexpr int kTokensMax = 1 << 20;
  std::vector<int> counts;
  for (const std::string& text : texts) {
    for (std::size_t first = 0; first <= text.size();) {
      const std::size_t behind = std::min(text.find(',', first), text.size());
      const std::string one = text.substr(first, behind - first);
      int count = 0;
      const auto read = std::from_chars(one.data(), one.data() + one.size(), count);
      if (read.ec != std::errc() || read.ptr != one.data() + one.size() || count < 1 ||
          count > kTokensMax) {
        throw UsageError(
            fmt::format("--tokens: '{}' is no whole number from 1 to {}", one, kTokensMax));
      }
      counts.push_back(count);
      first = behind + 1;
    }
  }
  return counts;
}

void bench_layers(const Engine& engine, const LayerBenchOptions& options) {
  const std::vector<LayerModel> models = layer_models_of(options.layers);
  const Activations activations = options.activations.empty()
                                      ? Activations::kBf16
                                      : activations_from_string(options.activations);
  const backend::Ceilings ceilings =
      engine.state().measure_ceilings(std::clamp(options.seconds, 0.1, 1.5));
  Table table = empty_table();
  for (const LayerModel& model : models) {
    const int most = *std::max_element(options.token_counts.begin(), options.token_counts.end());
    LayerTrial trial(engine, model,
                     {.activations = activations,
                      .tokens_max = most,
                      .expert_limit = expert_limit(engine, model, options.expert_limit),
                      .skewed = options.routing == "skewed",
                      .batch_invariant = options.batch_invariant,
                      .surroundings = options.surroundings,
                      .graph = options.graph,
                      .seconds = options.seconds,
                      .seed = options.seed});
    if (trial.model().expert_count < model.expert_count) {
      fmt::print(stderr, "thresher: {}: {} of {} experts\n", model.name, trial.model().expert_count,
                 model.expert_count);
    }
    for (const int tokens : options.token_counts) {
      const LayerTiming timing = trial.run(tokens);
      const LayerRow row{engine.description(), trial.model(),           timing,  activations,
                         options.routing,      options.batch_invariant, ceilings};
      if (options.json) {
        print_json_line(row);
      } else {
        add_row(table, row);
      }
    }
  }
  if (options.json) return;
  print(table);
  fmt::print("{} {}\n", ceilings.title, ceilings.text);
}

}  // namespace thresher::cli
