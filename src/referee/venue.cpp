// SPDX-License-Identifier: Apache-2.0
#include "referee/venue.hpp"

#include <fmt/format.h>

#include "engine/backends.hpp"
#include "referee/timing/gpu_arm.hpp"
#include "referee/timing/light.hpp"
#include "referee/timing/referee_gpu.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace referee {
namespace {

class HostHold final : public Hold {
 public:
  explicit HostHold(int thread_count) : engine_({.thread_count = thread_count}) {}
  const Engine& engine() const override { return engine_; }

 private:
  const Engine engine_;
};

// Measuring takes seconds where a CPU's caches are large, and our own engine is never accused.
std::optional<MachineRates> cpu_rates(const ArmOptions& arm, bool ours) {
  if (ours) return std::nullopt;
  return rates_once(Engine({.thread_count = arm.thread_count}));
}

// They also say how many copies of a problem are cold.
std::optional<MachineRates> gpu_rates(const ArmOptions& arm, bool) {
  return rates_once(*arm.engine);
}

// Drivers differ in whether CUDA starts, and shares memory, from inside a process namespace. One
// process of our own finds out, once for all matches.
std::vector<std::string> layers_that_stop_cuda(const Problem& problem, const ArmOptions& arm,
                                               std::uint64_t seed) {
  static const bool starts = [&] {
    const Job job{.kind = JobKind::kVariant, .backend = "gpu", .cuda = arm.gpu->setting()};
    const StagedArm probe = make_staged_gpu_arm(job, std::span(&problem, 1), arm, seed);
    const bool ok = !probe.arm->start();
    probe.arm->finish();
    return ok;
  }();
  if (starts) return {};
  return {fmt::format("{}: CUDA does not start in one", layer::kProcessNamespace)};
}

constexpr Venue kVenues[] = {
    {.backend = "cpu",
     .own_kind = {},
     .sandbox = {},
     .clock = SampleClock::kReferee,
     .surroundings = measure::Surroundings::kAlone,
     .leaves_worker_behind = false,
     .hold = [](const EngineOptions&, int thread_count, const std::filesystem::path&)
         -> std::unique_ptr<Hold> { return std::make_unique<HostHold>(thread_count); },
     .stopping_layers = [](const Problem&, const ArmOptions&,
                           std::uint64_t) { return std::vector<std::string>(); },
     .rates = cpu_rates,
     .rates_again =
         [](const ArmOptions& arm) {
           return rates_again(Engine({.thread_count = arm.thread_count}));
         },
     .build = build_for_cpu,
     .make_staged_arm = make_staged_cpu_arm,
     .samplers = cpu_samplers,
     .make_worker = make_cpu_worker},
    {.backend = "gpu",
     .own_kind = ContestantKind::kCuda,
     .sandbox = {.no_memory_limit = "CUDA reserves more addresses than any memory has",
                 .device_files = "nvidia",
                 .sockets = true},
     .clock = SampleClock::kDevice,
     .surroundings = measure::Surroundings::kBackToBack,
     .leaves_worker_behind = true,
     .hold = [](const EngineOptions& options, int, const std::filesystem::path& kernel_folder)
         -> std::unique_ptr<Hold> { return std::make_unique<RefereeGpu>(options, kernel_folder); },
     .stopping_layers = layers_that_stop_cuda,
     .rates = gpu_rates,
     .rates_again = [](const ArmOptions& arm) { return rates_again(*arm.engine); },
     .build = build_for_gpu,
     .make_staged_arm = make_staged_gpu_arm,
     .samplers = gpu_samplers,
     .make_worker = make_gpu_worker},
};

}  // namespace

const Venue* find_venue(std::string_view backend) {
  for (const Venue& venue : kVenues) {
    if (venue.backend == backend) return &venue;
  }
  return nullptr;
}

const Venue& venue_of(std::string_view backend) {
  if (const Venue* venue = find_venue(backend)) return *venue;
  throw Error(fmt::format("nothing is judged on the {}", backend));
}

}  // namespace referee

const Backend& backend_of(const Contestant& contestant) {
  if (contestant.kind == ContestantKind::kVariant && !contestant.variant.empty()) {
    return backend_of_variant(contestant.variant);
  }
  for (const referee::Venue& venue : referee::kVenues) {
    if (venue.own_kind == contestant.kind) return backend_named(venue.backend);
  }
  return backend_named(contestant.backend);
}

}  // namespace thresher
