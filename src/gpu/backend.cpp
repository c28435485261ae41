// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend.hpp"

#include <fmt/format.h>

#include "gpu/gemm_device.hpp"
#include "gpu/runtime/device_report.hpp"
#include "gpu/runtime/gpu.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu {
namespace {

int capability(const DeviceProperties& device) {
  return device.compute_major * 10 + device.compute_minor;
}

// "gpu:sm80", "gpu:1:sm80": a GPU taken for one that has no kernels of its own, so that those of
// all GPUs are chosen. The compiled code uses nothing that Ampere does not have.
constexpr std::string_view kAsAmpere = ":sm80";

bool is_as_ampere(const EngineOptions& options) { return options.device.ends_with(kAsAmpere); }

// The GPU itself.
EngineOptions without_kernels(EngineOptions options) {
  if (is_as_ampere(options)) options.device.resize(options.device.size() - kAsAmpere.size());
  return options;
}

std::string why_not(const EngineOptions& asked) {
  const EngineOptions options = without_kernels(asked);
  if (std::string why = why_not_gpu(options); !why.empty()) return why;
  const int index = device_index(options);
  const DeviceProperties device = device_properties(*find_driver().driver, index);
  if (capability(device) >= kComputeCapabilityMin) return {};
  return fmt::format(
      "GPU {} is {} ({}), and the GPU backend needs Ampere or newer (sm_80); use the CPU backend, "
      "or another device",
      index, device.name, device.architecture());
}

// The first GPU, as far as choices depend on it; an H200 where there is none.
SmLimits first_gpu() {
  const Driver* driver = find_driver().driver;
  if (driver == nullptr || device_count(*driver) == 0) return {};
  return {.compute_capability = capability(device_properties(*driver, 0))};
}

// The variants in the order of this machine's GPU. Asking for it opens the driver: not before
// somebody wants to know.
const Backend& variants_here() {
  static const Backend row = variants_row(mma_for(first_gpu()));
  return row;
}

std::vector<ReportLine> report(const EngineOptions& options) {
  const DriverLookup& found = find_driver();
  const int version = found.driver == nullptr ? 0 : driver_version(*found.driver);
  return device_report(
      found, find_nvrtc({.folders = options.compiler_folders, .driver_version = version}));
}

std::string machine_class_here() {
  return machine_class(device_properties(*find_driver().driver, 0));
}

}  // namespace

const Backend& gpu_backend() {
  static const Backend backend = [] {
    Backend row = variants_row(Mma::kWarpgroup);
    row.name = "gpu";
    row.numbered = true;
    row.title = "GPU";
    row.plans_ahead = 8;
    row.checks = {.calls = 2, .host_copies = 0};
    row.device_name = [] { return device_properties(*find_driver().driver, 0).name; };
    row.machine_class = machine_class_here;
    row.report = report;
    row.named_variants = [] { return variants_here().named_variants(); };
    row.choices = [] { return variants_here().choices(); };
    row.baseline = [] { return variants_here().baseline(); };
    row.knobs = [] { return variants_here().knobs(); };
    row.missing_for = [](std::string_view variant) { return why_not_here(variant, first_gpu()); };
    row.why_not = why_not;
    row.open = [](const EngineOptions& asked) {
      const EngineOptions options = without_kernels(asked);
      const std::string_view kernels = is_as_ampere(asked) ? kAsAmpere : "";
      return open_device(gpu_backend(), open_gpu(options),
                         fmt::format("gpu:{}{}", device_index(options), kernels),
                         is_as_ampere(asked) ? KernelsOf::kAmpere : KernelsOf::kDevice);
    };
    return row;
  }();
  return backend;
}

}  // namespace thresher::gpu
