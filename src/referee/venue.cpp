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

constexpr Venue kVenues[] = {
    {.backend = "cpu",
     .own_kind = {},
     .sandbox = {},
     .clock = SampleClock::kReferee,
     .leaves_worker_behind = false,
     .hold_gpu = [](const EngineOptions&,
                    const std::filesystem::path&) -> std::unique_ptr<RefereeGpu> { return {}; },
     .rates =
         [](const ArmOptions& arm) {
           return rates_once(Engine({.thread_count = arm.thread_count}));
         },
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
     .leaves_worker_behind = true,
     .hold_gpu =
         [](const EngineOptions& options, const std::filesystem::path& kernel_folder) {
           return std::make_unique<RefereeGpu>(options, kernel_folder);
         },
     .rates = [](const ArmOptions& arm) { return rates_once(arm.gpu->engine()); },
     .rates_again = [](const ArmOptions& arm) { return rates_again(arm.gpu->engine()); },
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
