// SPDX-License-Identifier: Apache-2.0
// A season without a machine: contestants have true speeds, and the referee sees them with a little
// noise that depends on the names alone, so that every run is the same.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "digest/sha256.hpp"
#include "tank/season/season.hpp"

namespace thresher::testing {

inline Suite fake_suite() {
  return {.name = "small",
          .description = "",
          .problems = {{.name = "one", .groups = {{.m = 40, .n = 256, .k = 512}}},
                       {.name = "two",
                        .groups = {{.m = 3, .n = 128, .k = 256}, {.m = 9, .n = 128, .k = 256}}}}};
}

inline Pitch fake_pitch(const std::string& name, double claim, const std::string& contestant) {
  return parse_pitch(fmt::format("name = \"{}\"\nsuite = \"small\"\nfamily = \"{}\"\n"
                                 "author = \"Ada\"\nclaim = {:.3f}\nmechanism = \"less work\"\n"
                                 "bottleneck = \"latency of memory\"\n[contestant]\n{}\n",
                                 name, name, claim, contestant),
                     name + ".toml");
}

inline Contestant fake_champion() {
  return {.kind = ContestantKind::kVariant, .name = "cpu_portable", .variant = "cpu_portable"};
}

// What running a contestant shows. A variant's speed is the product over the knobs it turns.
struct FakeMachine {
  std::map<std::string, double> speed_of_setting = {
      {"tile=16x16", 1.10}, {"task=128x64", 0.80}, {"schedule=sequence", 0.90}};
  std::string wrong_setting = "task=64x128";  // computes something else
  // So many heats until a match of a contestant with this setting is decided; others need none.
  std::map<std::string, int> heats_until_clear = {};
  double slack_of_unclear = 0.05;  // what the interval of an unclear match leaves open
  int judged = 0;
  double seconds = 0;

  double speed(const Contestant& contestant) const {
    double product = 1;
    for (const auto& [setting, value] : speed_of_setting) {
      if (contestant.variant.find(setting) != std::string::npos) product *= value;
    }
    return product;
  }

  static std::string hash(const Contestant& one) { return sha256_hex(one.name + one.variant); }

  int heats_needed(const Contestant& contestant) const {
    int most = 0;
    for (const auto& [setting, heats] : heats_until_clear) {
      if (contestant.variant.find(setting) != std::string::npos) most = std::max(most, heats);
    }
    return most;
  }

  MatchRecord judge(const Match& match) {
    ++judged;
    seconds += match.options.seconds_max;
    MatchRecord record{.seed = 7,
                       .champion_hash = hash(match.champion),
                       .challenger_hash = hash(match.challenger),
                       .seconds = match.options.seconds_max,
                       .log = {"played"}};
    if (match.challenger.variant.find(wrong_setting) != std::string::npos) {
      record.verdict = {.kind = VerdictKind::kWrong, .check = "numerics", .reason = "3 values off"};
      return record;
    }
    record.samples = match.options.earlier;
    record.earlier_heat_count = static_cast<int>(record.samples.heats.size());
    record.samples.problems.clear();
    for (const Problem& problem : match.suite.problems) {
      record.samples.problems.push_back(problem.name);
    }
    record.samples.heats.resize(record.samples.heats.size() + 5);
    const int heat_count = static_cast<int>(record.samples.heats.size());
    const int more_heats = std::max(0, heats_needed(match.challenger) - heat_count);
    const double slack = more_heats > 0 ? slack_of_unclear : 0.01;
    const double ratio = speed(match.challenger) / speed(match.champion);
    const Estimate speedup{.value = ratio, .low = (1 - slack) * ratio, .high = (1 + slack) * ratio};
    MatchEstimate estimate{.speedup = speedup,
                           .lower_bound = speedup.low,
                           .heat_count = heat_count,
                           .more_heats_needed = more_heats};
    for (const Problem& problem : match.suite.problems) {
      estimate.problems.push_back({.problem = problem.name,
                                   .speedup = speedup,
                                   .champion_us = 1000 / speed(match.champion),
                                   .challenger_us = 1000 / speed(match.challenger)});
    }
    const bool accepted = speedup.low >= match.terms.speedup_min;
    record.verdict = {.kind = more_heats > 0 ? VerdictKind::kUnclear
                              : accepted     ? VerdictKind::kAccepted
                                             : VerdictKind::kRejected,
                      .check = "terms",
                      .reason = fmt::format("{:.2f}x", ratio),
                      .estimate = estimate};
    return record;
  }
};

inline SeasonTools fake_tools(FakeMachine& machine) {
  return {.judge = [&](const Match& match) { return machine.judge(match); },
          .hash = FakeMachine::hash,
          .research =
              [](const Contestant& champion) {
                return std::vector<std::string>{champion.name + " waits for memory"};
              },
          .seconds_now = [&] { return machine.seconds; },
          .report = [](const std::string&) {}};
}

inline SeasonSetup fake_setup(const std::string& season) {
  SeasonSetup setup;
  setup.rules.season = season;
  setup.rules.suite = fake_suite();
  setup.rules.rubric = rubric_by_name(kDefaultRubric);
  setup.rules.match.thread_count = 2;
  setup.rules.match.seconds_max = 10;
  setup.rules.pilot = setup.rules.match;
  setup.rules.pilot.seconds_max = 1;
  setup.champion = fake_champion();
  setup.rates = {
      .read_gb_per_s = 10, .nvfp4_gop_per_s = 400, .fp16_gop_per_s = 100, .bf16_gop_per_s = 100};
  setup.seconds_max = 1e6;
  setup.seed = 5;
  setup.pitches = {fake_pitch("deeper", 1.5, "knobs = {tile = \"16x16\"}"),
                   fake_pitch("streaming", 1.2, "knobs = {task = \"128x64\"}"),
                   fake_pitch("in_turn", 1.1, "knobs = {schedule = \"sequence\"}"),
                   fake_pitch("other_tasks", 1.3, "knobs = {task = \"64x128\"}")};
  return setup;
}

}  // namespace thresher::testing
