// SPDX-License-Identifier: Apache-2.0
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {

void add_few_token_kernels(KernelSet& kernels) {
  add_variant<gpu::GemmKnobs{.tokens = 16, .stages = 6}>(kernels);
  add_variant<gpu::GemmKnobs{.tokens = 16, .stages = 6, .prologue = gpu::Prologue::kInside}>(
      kernels);
}

}  // namespace thresher::emulated
