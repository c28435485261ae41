// SPDX-License-Identifier: Apache-2.0
// Variants that load, decode or store in another way than the default.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {

void add_pipeline_kernels(KernelSet& kernels) {
  add_variant<gpu::sm90::GemmKnobs{.stages = 2}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.fragment_steps = 2}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.specialised = false}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.store = gpu::sm90::Store::kStaged}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.store = gpu::sm90::Store::kVectors}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.arrive = gpu::sm90::Arrive::kWarp}>(kernels);
}

}  // namespace thresher::emulated
