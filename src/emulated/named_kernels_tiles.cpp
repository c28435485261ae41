// SPDX-License-Identifier: Apache-2.0
// Variants whose tiles have another shape than the default's.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {
namespace {

constexpr gpu::GemmKnobs kTallAndBalanced{.weight_rows = 256,
                                          .stages = 6,
                                          .fragment_steps = 2,
                                          .store = gpu::Store::kVectors,
                                          .schedule = gpu::Schedule::kBalanced,
                                          .prologue = gpu::Prologue::kInside};

}  // namespace

void add_tile_kernels(KernelSet& kernels) {
  add_variant<gpu::GemmKnobs{.tokens = 64}>(kernels);
  add_variant<gpu::GemmKnobs{.tokens = 256, .stages = 3}>(kernels);
  add_variant<gpu::GemmKnobs{
      .tokens = 64, .weight_rows = 256, .fragment_steps = 2, .store = gpu::Store::kVectors}>(
      kernels);
  add_variant<gpu::GemmKnobs{
      .tokens = 64, .consumer_warpgroups = 1, .fragment_steps = 2, .blocks_per_sm = 2}>(kernels);
  add_variant<gpu::GemmKnobs{.widths = gpu::Widths::kFixed}>(kernels);
  add_variant<kTallAndBalanced>(kernels);
}

}  // namespace thresher::emulated
