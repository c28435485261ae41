// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend.hpp"

#include <fmt/format.h>

#include "gpu/runtime/gpu.hpp"
#include "gpu/sm90/backend.hpp"
#include "gpu/sm90/device.hpp"

namespace thresher::gpu {
namespace {

std::string why_not(const EngineOptions& options) {
  if (std::string why = why_not_gpu(options); !why.empty()) return why;
  const int index = device_index(options);
  const DeviceProperties device = device_properties(*find_driver().driver, index);
  if (device.compute_major == sm90::kComputeMajor) return {};
  return fmt::format(
      "GPU {} is {} ({}), and the GPU backend runs on sm_90 only; use the CPU backend, or another "
      "device",
      index, device.name, device.architecture());
}

}  // namespace

const Backend& gpu_backend() {
  static const Backend backend = [] {
    Backend row = sm90::variants_row();
    row.name = "gpu";
    row.numbered = true;
    row.title = "GPU";
    row.device_name = [] { return device_properties(*find_driver().driver, 0).name; };
    row.why_not = why_not;
    row.open = [](const EngineOptions& options) {
      return sm90::open_device(gpu_backend(), open_gpu(options),
                               fmt::format("gpu:{}", device_index(options)));
    };
    return row;
  }();
  return backend;
}

}  // namespace thresher::gpu
