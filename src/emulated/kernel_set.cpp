// SPDX-License-Identifier: Apache-2.0
#include "emulated/kernel_set.hpp"

#include <algorithm>

#include "emulated/erased_types.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated {

// Settings of the knobs share kernels, and the first to come brings them.
void KernelSet::add(gpu::GemmKind kind, const gpu::GemmConfig& config, Gemm kernel) {
  if (find(kind, config) == nullptr) gemms_.push_back({kind, erased(config), kernel});
}

void KernelSet::add(const gpu::ImageConfig& config, Images kernel) {
  if (find(config) == nullptr) images_.push_back({erased(config), kernel});
}

const KernelSet::GemmEntry* KernelSet::find(gpu::GemmKind kind,
                                            const gpu::GemmConfig& config) const {
  const gpu::GemmConfig wanted = erased(config);
  const auto found = std::find_if(gemms_.begin(), gemms_.end(), [&](const GemmEntry& entry) {
    return entry.kind == kind && entry.config == wanted;
  });
  return found == gemms_.end() ? nullptr : &*found;
}

const KernelSet::ImagesEntry* KernelSet::find(const gpu::ImageConfig& config) const {
  const gpu::ImageConfig wanted = erased(config);
  const auto found = std::find_if(images_.begin(), images_.end(),
                                  [&](const ImagesEntry& entry) { return entry.config == wanted; });
  return found == images_.end() ? nullptr : &*found;
}

bool KernelSet::has(const gpu::GemmPlan& plan) const {
  return (!plan.images || find(plan.images->config) != nullptr) &&
         std::all_of(plan.launches.begin(), plan.launches.end(), [&](const auto& launch) {
           return find(launch.kind, launch.config) != nullptr;
         });
}

KernelSet::Gemm KernelSet::gemm(gpu::GemmKind kind, const gpu::GemmConfig& config) const {
  const GemmEntry* entry = find(kind, config);
  if (entry == nullptr) throw Error("the plan's GEMM kernel is not instantiated for the emulator");
  return entry->kernel;
}

KernelSet::Images KernelSet::images(const gpu::ImageConfig& config) const {
  const ImagesEntry* entry = find(config);
  if (entry == nullptr) throw Error("the plan's prologue is not instantiated for the emulator");
  return entry->kernel;
}

}  // namespace thresher::emulated
