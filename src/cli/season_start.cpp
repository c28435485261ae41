// SPDX-License-Identifier: Apache-2.0
#include "cli/season_start.hpp"

#include <fmt/format.h>

#include "cli/backend_option.hpp"
#include "cli/gpu_profile.hpp"
#include "cli/machine.hpp"
#include "cpu/calibrate.hpp"
#include "cpu/features.hpp"
#include "gpu/engine/state.hpp"
#include "gpu/sm90/calibrate.hpp"
#include "tank/season/time_profile.hpp"

namespace thresher::cli {
namespace {

constexpr double kCalibrationSeconds = 0.6;

void measure_cpu(SeasonSetup& setup) {
  const int threads = setup.rules.match.thread_count;
  setup.rates = cpu::machine_rates(best_isa(),
                                   cpu::measure_ceilings(best_isa(), threads, kCalibrationSeconds));
  for (const ProblemProfile& one :
       profile(setup.rules.suite, setup.champion.variant, threads, setup.rates)) {
    setup.champion_us[one.problem] = one.us;
  }
  setup.environment["cpu"] = cpu::cpu_model();
  setup.environment["cores"] = cpu::usable_core_count();
}

void measure_gpu(SeasonSetup& setup) {
  const GpuEngine engine(gpu_engine_options());
  const GpuEngine::State& gpu = engine.state();
  setup.rates = gpu::sm90::machine_rates(
      gpu::sm90::measure_ceilings(gpu.device, gpu.compiler, gpu.cache, kCalibrationSeconds));
  setup.limits = gpu.limits;
  for (const GpuProfile& one :
       gpu_profile(engine, setup.rules.suite, setup.champion.variant, setup.rates)) {
    setup.champion_us[one.problem] = one.us;
  }
  const gpu::DeviceProperties& device = gpu.device.properties();
  setup.environment["device"] = device.name;
  setup.environment["architecture"] = device.architecture();
  setup.environment["driver"] = "CUDA " + gpu::cuda_version_text(gpu.driver_version);
  setup.environment["compiler"] = gpu.compiler.version();
  setup.environment["memory_bytes"] = device.memory_bytes;
  setup.environment["l2_bytes"] = device.l2_bytes;
}

std::vector<std::string> cpu_findings(const std::string& variant, const SeasonRules& rules,
                                      const MachineRates& rates) {
  const int threads = rules.match.thread_count;
  std::vector<std::string> findings;
  for (const ProblemProfile& one : profile(rules.suite, variant, threads, rates)) {
    findings.push_back(finding(one, threads));
  }
  return findings;
}

std::vector<std::string> gpu_findings(const std::string& variant, const SeasonRules& rules,
                                      const MachineRates& rates) {
  const GpuEngine engine(gpu_engine_options());
  std::vector<std::string> findings;
  for (const GpuProfile& one : gpu_profile(engine, rules.suite, variant, rates)) {
    findings.push_back(finding(one));
  }
  return findings;
}

}  // namespace

void measure_device(SeasonSetup& setup) {
  if (setup.rules.backend == Backend::kGpu) {
    measure_gpu(setup);
  } else {
    measure_cpu(setup);
  }
}

std::vector<std::string> findings_on(const Contestant& champion, const SeasonRules& rules,
                                     const MachineRates& rates) {
  if (champion.kind != ContestantKind::kVariant) {
    return {fmt::format("'{}' is foreign code: its time cannot be taken apart from here",
                        champion.name)};
  }
  return rules.backend == Backend::kGpu ? gpu_findings(champion.variant, rules, rates)
                                        : cpu_findings(champion.variant, rules, rates);
}

}  // namespace thresher::cli
