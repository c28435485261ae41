// SPDX-License-Identifier: Apache-2.0
// Variants that load, decode or store in another way than the default.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {

void add_pipeline_kernels(KernelSet& kernels) {
  add_variant<gpu::GemmKnobs{.stages = 2}>(kernels);
  add_variant<gpu::GemmKnobs{.fragment_steps = 2}>(kernels);
  add_variant<gpu::GemmKnobs{.specialised = false}>(kernels);
  add_variant<gpu::GemmKnobs{.store = gpu::Store::kStaged}>(kernels);
  add_variant<gpu::GemmKnobs{.store = gpu::Store::kVectors}>(kernels);
  add_variant<gpu::GemmKnobs{.arrive = gpu::Arrive::kWarp}>(kernels);
}

}  // namespace thresher::emulated
