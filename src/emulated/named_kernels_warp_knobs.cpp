// SPDX-License-Identifier: Apache-2.0
// The other named variants of the kernels for warps, and their baseline.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {
namespace {

using gpu::GemmKnobs;

template <auto kTurn>
constexpr GemmKnobs kWarp = turned<gpu::Mma::kWarp, kTurn>();

constexpr GemmKnobs kLarge = kWarp<[](GemmKnobs& k) {
  k.tokens = 96;
  k.weight_rows = 256;
  k.consumer_warpgroups = 2;
  k.stages = 3;
  k.prologue = gpu::Prologue::kKernel;
}>;
constexpr GemmKnobs kImages = kWarp<[](GemmKnobs& k) { k.prologue = gpu::Prologue::kKernel; }>;
constexpr GemmKnobs kTwoStages = kWarp<[](GemmKnobs& k) { k.stages = 2; }>;
constexpr GemmKnobs kBalanced = kWarp<[](GemmKnobs& k) { k.schedule = gpu::Schedule::kBalanced; }>;
constexpr GemmKnobs kSplit = kWarp<[](GemmKnobs& k) { k.split_k = 2; }>;
constexpr GemmKnobs kTwoPass = kWarp<[](GemmKnobs& k) { k.dual = gpu::Dual::kTwoPass; }>;
constexpr GemmKnobs kBaseline = kWarp<[](GemmKnobs& k) {
  k.stages = 2;
  k.dual = gpu::Dual::kTwoPass;
}>;

}  // namespace

void add_warp_knob_kernels(KernelSet& kernels) {
  add_variant<kLarge>(kernels);
  add_variant<kImages>(kernels);
  add_variant<kTwoStages>(kernels);
  add_variant<kBalanced>(kernels);
  add_variant<kSplit>(kernels);
  add_variant<kTwoPass>(kernels);
  add_variant<kBaseline>(kernels);
}

}  // namespace thresher::emulated
