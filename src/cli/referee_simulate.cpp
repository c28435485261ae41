// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "referee/statistics/simulation.hpp"

namespace thresher::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SimulateOptions {
  int trial_count = 1000;
  std::uint64_t seed = 1;
  bool json = false;
};

struct DesignRow {
  std::string_view design;
  std::vector<referee::DesignRates> by_world;  // in the order of kWorlds
};

struct ContractRow {
  referee::NamedTruth truth;
  std::vector<referee::VerdictRates> by_options;  // in the order of kContractOptions
};

// Three challengers under one rule at one noise.
struct NoiseRow {
  double noise_sd = 0;
  std::string_view rule;
  referee::VerdictRates no_gain;
  referee::VerdictRates gain_asked;
  referee::VerdictRates double_gain;
};

struct NoisyRow {
  std::string_view world;
  referee::NamedTruth truth;
  referee::VerdictRates rates;
};

struct Figures {
  std::vector<DesignRow> designs;
  std::vector<ContractRow> contract;
  std::vector<NoiseRow> noise;
  std::vector<NoisyRow> noisy;
};

NoiseRow rate_noise(double noise_sd, std::string_view rule, const SimulateOptions& options) {
  const auto rate = [&](double speedup) {
    const referee::MatchPlan plan = referee::noise_plan(noise_sd, speedup);
    return rule == "referee"
               ? referee::rate_verdicts(plan, options.trial_count, options.seed)
               : referee::rate_probability_ratio_test(plan, options.trial_count, options.seed);
  };
  return {noise_sd, rule, rate(1), rate(1.01), rate(1.02)};
}

Figures simulate(const SimulateOptions& options) {
  const std::vector<referee::NamedTruth> truths = referee::contract_truths();
  Progress progress(static_cast<std::int64_t>(referee::kDesigns.size() + truths.size() +
                                              referee::kNoises.size() +
                                              referee::kNoisyWorlds.size()));
  Figures figures;
  for (const referee::Design& design : referee::kDesigns) {
    progress.begin_step(design.name);
    DesignRow row{.design = design.name};
    for (const referee::NamedWorld& named : referee::kWorlds) {
      row.by_world.push_back(
          referee::rate_design(design, named.world, options.trial_count, options.seed));
    }
    figures.designs.push_back(std::move(row));
  }
  for (const referee::NamedTruth& truth : truths) {
    progress.begin_step(truth.name);
    ContractRow row{.truth = truth};
    for (const referee::NamedOptions& named : referee::kContractOptions) {
      row.by_options.push_back(
          referee::rate_verdicts(referee::contract_plan(truth.speedups, named.options),
                                 options.trial_count, options.seed));
    }
    figures.contract.push_back(std::move(row));
  }
  for (const double noise_sd : referee::kNoises) {
    progress.begin_step(fmt::format("noise of {:.1f} %", 100 * noise_sd));
    for (const std::string_view rule : {"referee", "GSPRT"}) {
      figures.noise.push_back(rate_noise(noise_sd, rule, options));
    }
  }
  for (const referee::NamedWorld& named : referee::kNoisyWorlds) {
    progress.begin_step(named.name);
    for (const referee::NamedTruth& truth : referee::noisy_truths(named.world)) {
      const referee::VerdictRates rates = referee::rate_verdicts(
          referee::noisy_plan(named.world, truth.speedups, truth.challenger_heat_sd),
          options.trial_count, options.seed);
      figures.noisy.push_back({named.name, truth, rates});
    }
  }
  return figures;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

void print_designs(const std::vector<DesignRow>& rows) {
  fmt::print("Is B faster than A? Found where there is nothing / found where there is 2 %, in %\n");
  std::vector<Column> columns{{"60 calls as"}};
  for (const referee::NamedWorld& named : referee::kWorlds) {
    columns.push_back({std::string(named.name), Align::kRight});
  }
  Table table(columns);
  for (const DesignRow& row : rows) {
    std::vector<Cell> cells{std::string(row.design)};
    for (const referee::DesignRates& rates : row.by_world) {
      cells.push_back(fmt::format("{} / {}", percent(rates.false_positives), percent(rates.power)));
    }
    table.add_row(std::move(cells));
  }
  print(table);
}

void print_contract(const std::vector<ContractRow>& rows) {
  fmt::print(
      "\nFour problems in the last world, at least +1 %, none below -3 %:\n"
      "accepted / rejected / unclear in %, mean heats\n");
  std::vector<Column> columns{{"challenger"}};
  for (const referee::NamedOptions& named : referee::kContractOptions) {
    columns.push_back({std::string(named.name), Align::kRight});
  }
  Table table(columns);
  for (const ContractRow& row : rows) {
    std::vector<Cell> cells{std::string(row.truth.name)};
    for (const referee::VerdictRates& rates : row.by_options) {
      cells.push_back(fmt::format("{} / {} / {}, {:.1f}", percent(rates.accepted),
                                  percent(rates.rejected), percent(rates.unclear),
                                  rates.heats_mean));
    }
    table.add_row(std::move(cells));
  }
  print(table);
}

void print_noise(const std::vector<NoiseRow>& rows) {
  fmt::print(
      "\nOne problem, at least +1 %, 5 to 15 heats, by noise per call; GSPRT: the sequential\n"
      "probability ratio test with a history of 1 % per heat, which the referee does not use\n");
  Table table({{"noise", Align::kRight},
               {"decided by"},
               {"no gain: accepted", Align::kRight},
               {"+1 %: rejected", Align::kRight},
               {"+2 %: accepted", Align::kRight},
               {"heats at +2 %", Align::kRight}});
  for (const NoiseRow& row : rows) {
    table.add_row({percent(row.noise_sd), std::string(row.rule), percent(row.no_gain.accepted),
                   percent(row.gain_asked.rejected), percent(row.double_gain.accepted),
                   fmt::format("{:.1f}", row.double_gain.heats_mean)});
  }
  print(table);
}

void print_noisy(const std::vector<NoisyRow>& rows) {
  fmt::print(
      "\nThree problems on a noisy machine, at least +1 %, none below -3 %, heats that fit 25 s:\n"
      "what is decided, in %\n");
  Table table({{"world"},
               {"challenger"},
               {"accepted", Align::kRight},
               {"rejected", Align::kRight},
               {"for spread", Align::kRight},
               {"unclear", Align::kRight},
               {"of it void", Align::kRight},
               {"mean heats", Align::kRight}});
  std::string_view world;
  for (const NoisyRow& row : rows) {
    table.add_row({std::string(row.world == world ? "" : row.world), std::string(row.truth.name),
                   percent(row.rates.accepted), percent(row.rates.rejected),
                   percent(row.rates.rejected_for_spread), percent(row.rates.unclear),
                   percent(row.rates.controls_failed),
                   fmt::format("{:.1f}", row.rates.heats_mean)});
    world = row.world;
  }
  print(table);
}

Json to_json(const referee::VerdictRates& rates) {
  return {{"accepted", rates.accepted},
          {"rejected", rates.rejected},
          {"rejected_for_spread", rates.rejected_for_spread},
          {"unclear", rates.unclear},
          {"controls_failed", rates.controls_failed},
          {"heats_mean", rates.heats_mean}};
}

Json designs_to_json(const std::vector<DesignRow>& rows) {
  Json list = Json::array();
  for (const DesignRow& row : rows) {
    for (std::size_t i = 0; i < row.by_world.size(); ++i) {
      list.push_back({{"design", row.design},
                      {"world", referee::kWorlds[i].name},
                      {"false_positives", row.by_world[i].false_positives},
                      {"power", row.by_world[i].power}});
    }
  }
  return list;
}

Json contract_to_json(const std::vector<ContractRow>& rows) {
  Json list = Json::array();
  for (const ContractRow& row : rows) {
    for (std::size_t i = 0; i < row.by_options.size(); ++i) {
      const referee::NamedOptions& named = referee::kContractOptions[i];
      list.push_back({{"challenger", row.truth.name},
                      {"speedups", row.truth.speedups},
                      {"heats_min", named.options.heats_min},
                      {"heats_max", named.options.heats_max},
                      {"verdicts", to_json(row.by_options[i])}});
    }
  }
  return list;
}

Json noise_to_json(const std::vector<NoiseRow>& rows) {
  Json list = Json::array();
  for (const NoiseRow& row : rows) {
    list.push_back({{"noise_sd", row.noise_sd},
                    {"decided_by", row.rule},
                    {"no_gain", to_json(row.no_gain)},
                    {"gain_asked", to_json(row.gain_asked)},
                    {"double_gain", to_json(row.double_gain)}});
  }
  return list;
}

Json noisy_to_json(const std::vector<NoisyRow>& rows) {
  Json list = Json::array();
  for (const NoisyRow& row : rows) {
    list.push_back({{"world", row.world},
                    {"challenger", row.truth.name},
                    {"speedups", row.truth.speedups},
                    {"challenger_heat_sd", row.truth.challenger_heat_sd},
                    {"verdicts", to_json(row.rates)}});
  }
  return list;
}

int run_simulate(const SimulateOptions& options) {
  const Figures figures = simulate(options);
  if (options.json) {
    fmt::print("{}\n", Json{{"trials", options.trial_count},
                            {"seed", options.seed},
                            {"designs", designs_to_json(figures.designs)},
                            {"contract", contract_to_json(figures.contract)},
                            {"noise", noise_to_json(figures.noise)},
                            {"noisy", noisy_to_json(figures.noisy)}}
                           .dump());
    return kExitOk;
  }
  print_designs(figures.designs);
  print_contract(figures.contract);
  print_noise(figures.noise);
  print_noisy(figures.noisy);
  return kExitOk;
}

}  // namespace

Command referee_simulate_command() {
  const auto options = std::make_shared<SimulateOptions>();
  return {.name = "simulate",
          .what = "Count wrong verdicts in model worlds (docs/statistics.md)",
          .options = {{.name = "--trials",
                       .value = &options->trial_count,
                       .what = "Matches per figure",
                       .range = {{1, 1000000}}},
                      {"--seed", &options->seed, "Where the worlds' luck comes from"},
                      json_flag(options->json)},
          .run = [options] { return run_simulate(*options); }};
}

}  // namespace thresher::cli
