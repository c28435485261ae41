// SPDX-License-Identifier: Apache-2.0
// Variants that load, decode or store in another way than the default.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {

void add_pipeline_kernels(KernelSet& kernels) {
  add_fp16_output<gpu::GemmKnobs{.stages = 2}>(kernels);
  add_fp16_output<gpu::GemmKnobs{.fragment_steps = 2}>(kernels);
  add_fp16_output<gpu::GemmKnobs{.specialised = false}>(kernels);
  add_fp16_output<gpu::GemmKnobs{.store = gpu::Store::kStaged}>(kernels);
  add_fp16_output<gpu::GemmKnobs{.store = gpu::Store::kVectors}>(kernels);
  add_fp16_output<gpu::GemmKnobs{.arrive = gpu::Arrive::kWarp}>(kernels);
}

}  // namespace thresher::emulated
