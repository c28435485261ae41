// SPDX-License-Identifier: Apache-2.0
// Variants that divide the work in another way than the default, and the baseline.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {

void add_schedule_kernels(KernelSet& kernels) {
  add_variant<gpu::GemmKnobs{.schedule = gpu::Schedule::kBalanced}>(kernels);
  add_variant<gpu::GemmKnobs{.split_k = 2}>(kernels);
  add_variant<gpu::GemmKnobs{.weight_rows = 192,
                             .consumer_warpgroups = 3,
                             .stages = 6,
                             .fragment_steps = 2,
                             .store = gpu::Store::kVectors,
                             .prologue = gpu::Prologue::kInside}>(kernels);
  add_variant<gpu::GemmKnobs{
      .consumer_warpgroups = 1, .fragment_steps = 2, .dual = gpu::Dual::kTwoPass}>(kernels);
  add_variant<gpu::GemmKnobs{.kind = gpu::GemmKind::kPlain}>(kernels);
  add_variant<gpu::GemmKnobs{.kind = gpu::GemmKind::kPlain, .dual = gpu::Dual::kTwoPass}>(kernels);
}

}  // namespace thresher::emulated
