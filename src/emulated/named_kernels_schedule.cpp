// SPDX-License-Identifier: Apache-2.0
// Variants that divide the work in another way than the default, and the baseline.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {

void add_schedule_kernels(KernelSet& kernels) {
  add_variant<gpu::sm90::GemmKnobs{.schedule = gpu::sm90::Schedule::kBalanced}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.split_k = 2}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.weight_rows = 192,
                                   .consumer_warpgroups = 3,
                                   .stages = 6,
                                   .fragment_steps = 2,
                                   .store = gpu::sm90::Store::kVectors,
                                   .prologue = gpu::sm90::Prologue::kInside}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{
      .consumer_warpgroups = 1, .fragment_steps = 2, .dual = gpu::sm90::Dual::kTwoPass}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.kind = gpu::sm90::GemmKind::kPlain}>(kernels);
  add_variant<gpu::sm90::GemmKnobs{.kind = gpu::sm90::GemmKind::kPlain,
                                   .dual = gpu::sm90::Dual::kTwoPass}>(kernels);
}

}  // namespace thresher::emulated
