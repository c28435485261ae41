// SPDX-License-Identifier: Apache-2.0
#include "referee/venue.hpp"

#include <fmt/format.h>

#include "referee/timing/gpu_arm.hpp"
#include "referee/timing/light.hpp"
#include "referee/timing/referee_gpu.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace referee {
namespace {

constexpr Venue kVenues[] = {
    {.backend = Backend::kCpu,
     .own_kind = {},
     .sandbox = {},
     .clock = SampleClock::kReferee,
     .leaves_worker_behind = false,
     .hold_gpu = [](const GpuEngineOptions&,
                    const std::filesystem::path&) -> std::unique_ptr<RefereeGpu> { return {}; },
     .rates = [](const ArmOptions& arm) { return cpu_rates(arm.thread_count); },
     .build = build_for_cpu,
     .make_staged_arm = make_staged_cpu_arm,
     .samplers = cpu_samplers,
     .make_worker = make_cpu_worker},
    {.backend = Backend::kGpu,
     .own_kind = ContestantKind::kCuda,
     .sandbox = {.no_process_namespace = "CUDA does not start in one",
                 .no_memory_limit = "CUDA reserves more addresses than any memory has",
                 .device_files = "nvidia",
                 .sockets = true},
     .clock = SampleClock::kDevice,
     .leaves_worker_behind = true,
     .hold_gpu =
         [](const GpuEngineOptions& options, const std::filesystem::path& kernel_folder) {
           return std::make_unique<RefereeGpu>(options, kernel_folder);
         },
     .rates = [](const ArmOptions& arm) { return arm.gpu->rates(); },
     .build = build_for_gpu,
     .make_staged_arm = make_staged_gpu_arm,
     .samplers = gpu_samplers,
     .make_worker = make_gpu_worker},
};

}  // namespace

const Venue* find_venue(Backend backend) {
  for (const Venue& venue : kVenues) {
    if (venue.backend == backend) return &venue;
  }
  return nullptr;
}

const Venue& venue_of(Backend backend) {
  if (const Venue* venue = find_venue(backend)) return *venue;
  throw Error(fmt::format("nothing is judged on the {}", to_string(backend)));
}

}  // namespace referee

Backend backend_of(const Contestant& contestant) {
  if (contestant.kind == ContestantKind::kVariant && !contestant.variant.empty()) {
    return backend_of_variant(contestant.variant);
  }
  for (const referee::Venue& venue : referee::kVenues) {
    if (venue.own_kind == contestant.kind) return venue.backend;
  }
  return contestant.backend;
}

}  // namespace thresher
