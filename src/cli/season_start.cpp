// SPDX-License-Identifier: Apache-2.0
#include "cli/season_start.hpp"

#include <fmt/format.h>

#include "cli/backend_option.hpp"
#include "tank/season/time_profile.hpp"

namespace thresher::cli {
namespace {

constexpr double kCalibrationSeconds = 0.6;

Engine engine_of(const SeasonRules& rules) {
  EngineOptions options = engine_options(backend_named(rules.backend));
  options.thread_count = rules.match.thread_count;
  return Engine(options);
}

// What a ledger remembers of the device.
void describe_device(const Engine& engine, SeasonSetup& setup) {
  const backend::Device& device = engine.state();
  for (const backend::Fact& fact : device.facts()) {
    std::visit([&](const auto& value) { setup.environment[fact.name] = value; }, fact.value);
  }
  setup.limits = device.limits();
}

}  // namespace

void measure_device(SeasonSetup& setup) {
  const Engine engine = engine_of(setup.rules);
  setup.rates = engine.state().measure_ceilings(kCalibrationSeconds).rates;
  for (const ProblemProfile& one :
       profile(engine, setup.rules.suite, setup.champion.variant, setup.rates)) {
    setup.champion_us[one.problem] = one.us;
  }
  describe_device(engine, setup);
}

std::vector<std::string> findings_on(const Contestant& champion, const SeasonRules& rules,
                                     const MachineRates& rates) {
  if (champion.kind != ContestantKind::kVariant) {
    return {fmt::format("'{}' is foreign code: its time cannot be taken apart from here",
                        champion.name)};
  }
  std::vector<std::string> findings;
  for (const ProblemProfile& one :
       profile(engine_of(rules), rules.suite, champion.variant, rates)) {
    findings.push_back(finding(one));
  }
  return findings;
}

}  // namespace thresher::cli
