// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/referee_gpu.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/runtime/nvml.hpp"
#include "measure/gpu_delay.hpp"
#include "referee/timing/light.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

EngineOptions with_cache(EngineOptions options, const fs::path& folder) {
  if (!options.cache_folder) options.cache_folder = folder;
  return options;
}

}  // namespace

RefereeGpu::RefereeGpu(const EngineOptions& options, fs::path kernel_folder)
    : options_(options),
      kernel_folder_(std::move(kernel_folder)),
      engine_(with_cache(options, kernel_folder_)) {
  const measure::GpuDelay for_the_cache(gpu::gpu_of(engine_));
  share_kernels();
}

void RefereeGpu::equip(ArmOptions& arm) const {
  Hold::equip(arm);
  arm.gpu = this;
  arm.counts_threads = false;
}

const gpu::Device& RefereeGpu::device() const { return gpu::gpu_of(engine_).device; }

CudaSetting RefereeGpu::setting() const {
  // A worker's own environment is empty: it is told where the compiler was found.
  const fs::path compiler = gpu::gpu_of(engine_).compiler.file();
  return {.device_index = gpu::device_index(options_),
          .kernel_folder = kernel_folder_,
          .compiler_folders = {compiler.parent_path().string()},
          .architecture = device().properties().architecture()};
}

std::vector<gpu::LaunchCounts> RefereeGpu::compile_variant(
    const std::string& variant, std::span<const Problem> problems) const {
  std::vector<gpu::LaunchCounts> launches;
  for (const Problem& problem : problems) {
    const bool runs = variant.empty() || engine_.supports(problem, variant).ok;
    gpu::LaunchCounts counts;
    if (runs) {
      const Plan plan = engine_.plan(problem, variant);
      counts = {.kernels = plan.kernel_launch_count(), .graphs = plan.graph_launch_count()};
    }
    launches.push_back(counts);
  }
  share_kernels();
  return launches;
}

// The operator's cache is the operator's: contestants get a copy that they can read, of what the
// referee's own plans needed.
void RefereeGpu::share_kernels() const {
  std::error_code error;
  for (const fs::path& kernel : gpu::gpu_of(engine_).cache.given()) {
    fs::copy_file(kernel, kernel_folder_ / kernel.filename(), fs::copy_options::skip_existing,
                  error);
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kernel_folder_, error)) {
    const fs::perms readable =
        entry.is_directory() ? fs::perms::group_exec | fs::perms::others_exec : fs::perms::none;
    fs::permissions(entry.path(), readable | fs::perms::group_read | fs::perms::others_read,
                    fs::perm_options::add, error);
  }
  // Whatever could not be copied is compiled by the worker itself.
}

std::string RefereeGpu::clocks() const {
  const gpu::NvmlLookup& found = gpu::find_nvml();
  if (found.nvml == nullptr) return found.why_not;
  try {
    const gpu::GpuClocks now = gpu::read_clocks(*found.nvml, gpu::pci_bus_id(device()));
    std::string text = fmt::format("{} MHz, {:.0f} W, {} C", now.sm_mhz, now.watts, now.celsius);
    if (!now.throttle_reasons.empty()) {
      text += fmt::format(", held back by {}", fmt::join(now.throttle_reasons, " and "));
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace thresher::referee
