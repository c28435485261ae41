// SPDX-License-Identifier: Apache-2.0
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {
namespace {

constexpr gpu::GemmKnobs few_tokens() {
  gpu::GemmKnobs knobs = gpu::default_knobs(gpu::Mma::kWarp);
  knobs.tokens = 16;
  knobs.stages = 6;
  return knobs;
}

}  // namespace

void add_warp_few_token_kernels(KernelSet& kernels) { add_variant<few_tokens()>(kernels); }

}  // namespace thresher::emulated
