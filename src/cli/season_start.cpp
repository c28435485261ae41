// SPDX-License-Identifier: Apache-2.0
#include "cli/season_start.hpp"

#include <fmt/format.h>

#include "cli/backend_option.hpp"
#include "cpu/features.hpp"
#include "gpu/runtime/gpu.hpp"
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
  const gpu::Gpu* gpu = gpu::find_gpu(engine);
  if (gpu == nullptr) {
    setup.environment["cpu"] = cpu::cpu_model();
    setup.environment["cores"] = cpu::usable_core_count();
    return;
  }
  setup.limits = engine.state().machine().limits;
  const gpu::DeviceProperties& device = gpu->device.properties();
  setup.environment["device"] = device.name;
  setup.environment["architecture"] = device.architecture();
  setup.environment["driver"] = "CUDA " + gpu::cuda_version_text(gpu->driver_version);
  setup.environment["compiler"] = gpu->compiler.version();
  setup.environment["memory_bytes"] = device.memory_bytes;
  setup.environment["l2_bytes"] = device.l2_bytes;
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
