// SPDX-License-Identifier: Apache-2.0
// The other named variants of the kernels for warps, and their baseline.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {
namespace {

using gpu::sm90::GemmKnobs;

template <auto kTurn>
constexpr GemmKnobs turned() {
  GemmKnobs knobs = gpu::sm90::default_knobs(gpu::sm90::Mma::kWarp);
  kTurn(knobs);
  return knobs;
}

constexpr GemmKnobs kLarge = turned<[](GemmKnobs& k) {
  k.tokens = 96;
  k.weight_rows = 256;
  k.consumer_warpgroups = 2;
  k.stages = 3;
  k.store = gpu::sm90::Store::kVectors;
}>();
constexpr GemmKnobs kTwoStages = turned<[](GemmKnobs& k) { k.stages = 2; }>();
constexpr GemmKnobs kBalanced =
    turned<[](GemmKnobs& k) { k.schedule = gpu::sm90::Schedule::kBalanced; }>();
constexpr GemmKnobs kSplit = turned<[](GemmKnobs& k) { k.split_k = 2; }>();
constexpr GemmKnobs kTwoPass = turned<[](GemmKnobs& k) { k.dual = gpu::sm90::Dual::kTwoPass; }>();
constexpr GemmKnobs kBaseline = turned<[](GemmKnobs& k) {
  k.stages = 2;
  k.dual = gpu::sm90::Dual::kTwoPass;
}>();

}  // namespace

void add_warp_knob_kernels(KernelSet& kernels) {
  add_fp16_output<kLarge>(kernels);
  add_fp16_output<kTwoStages>(kernels);
  add_fp16_output<kBalanced>(kernels);
  add_fp16_output<kSplit>(kernels);
  add_fp16_output<kTwoPass>(kernels);
  add_fp16_output<kBaseline>(kernels);
}

}  // namespace thresher::emulated
