// SPDX-License-Identifier: Apache-2.0
// Blackwell's named variants, their baseline and what the engine chooses from, for NVFP4
// activations, which are all they take.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {
namespace {

using gpu::GemmKnobs;

template <auto kTurn>
constexpr GemmKnobs kBlockScaled = turned<gpu::Mma::kBlockScaled, kTurn>();

constexpr GemmKnobs kDefault = kBlockScaled<[](GemmKnobs&) {}>;
constexpr GemmKnobs kFew = kBlockScaled<[](GemmKnobs& k) { k.tokens = 16; }>;
constexpr GemmKnobs kHalf = kBlockScaled<[](GemmKnobs& k) { k.tokens = 64; }>;
constexpr GemmKnobs kWide = kBlockScaled<[](GemmKnobs& k) { k.tokens = 256, k.stages = 2; }>;
constexpr GemmKnobs kShort = kBlockScaled<[](GemmKnobs& k) { k.stages = 2; }>;
constexpr GemmKnobs kFixed = kBlockScaled<[](GemmKnobs& k) { k.widths = gpu::Widths::kFixed; }>;
constexpr GemmKnobs kVectors = kBlockScaled<[](GemmKnobs& k) { k.store = gpu::Store::kVectors; }>;
constexpr GemmKnobs kPairs =
    kBlockScaled<[](GemmKnobs& k) { k.tokens = 32, k.stages = 2, k.blocks_per_sm = 2; }>;
constexpr GemmKnobs kPasses = kBlockScaled<[](GemmKnobs& k) { k.dual = gpu::Dual::kTwoPass; }>;
constexpr GemmKnobs kTall = kBlockScaled<[](GemmKnobs& k) { k.weight_rows = 256; }>;
constexpr GemmKnobs kTallAndNarrow = kBlockScaled<[](GemmKnobs& k) {
  k.tokens = 32, k.weight_rows = 256, k.stages = 5, k.store = gpu::Store::kVectors;
}>;
constexpr GemmKnobs kTallPasses =
    kBlockScaled<[](GemmKnobs& k) { k.weight_rows = 256, k.dual = gpu::Dual::kTwoPass; }>;
constexpr GemmKnobs kStaged =
    kBlockScaled<[](GemmKnobs& k) { k.stages = 3, k.store = gpu::Store::kStaged; }>;
constexpr GemmKnobs kBalancedTiles =
    kBlockScaled<[](GemmKnobs& k) { k.schedule = gpu::Schedule::kBalanced; }>;
constexpr GemmKnobs kHalves = kBlockScaled<[](GemmKnobs& k) { k.split_k = 2; }>;
constexpr GemmKnobs kTallBalanced = kBlockScaled<[](GemmKnobs& k) {
  k.tokens = 64, k.weight_rows = 256, k.store = gpu::Store::kStaged;
  k.schedule = gpu::Schedule::kBalanced;
}>;
constexpr GemmKnobs kShared = kBlockScaled<[](GemmKnobs& k) { k.loads = gpu::Loads::kMulticast; }>;
constexpr GemmKnobs kSharedBalanced = kBlockScaled<[](GemmKnobs& k) {
  k.tokens = 64, k.loads = gpu::Loads::kMulticast, k.store = gpu::Store::kStaged;
  k.schedule = gpu::Schedule::kBalanced;
}>;
constexpr GemmKnobs kSharedPasses = kBlockScaled<[](GemmKnobs& k) {
  k.loads = gpu::Loads::kMulticast, k.dual = gpu::Dual::kTwoPass;
}>;
constexpr GemmKnobs kTallBoxes =
    kBlockScaled<[](GemmKnobs& k) { k.weight_rows = 256, k.loads = gpu::Loads::kBoxes; }>;
constexpr GemmKnobs kBoxesInHalves = kBlockScaled<[](GemmKnobs& k) {
  k.loads = gpu::Loads::kBoxes, k.split_k = 2, k.dual = gpu::Dual::kTwoPass;
}>;
constexpr GemmKnobs kPassesShort = kBlockScaled<[](GemmKnobs& k) {
  k.stages = 2;
  k.dual = gpu::Dual::kTwoPass;
}>;

// What is chosen from (gpu/sm100/choose.cpp).
template <int kTokens, int kStages>
constexpr GemmKnobs kChoice =
    kBlockScaled<[](GemmKnobs& k) { k.tokens = kTokens, k.stages = kStages; }>;

template <GemmKnobs kKnobs, Op kOp>
void add(KernelSet& kernels) {
  using gpu::ActivationType;
  add_kernels<kKnobs, kOp, ActivationType::kNvfp4, gpu::OutputType::kFp16>(kernels);
  add_kernels<kKnobs, kOp, ActivationType::kNvfp4, gpu::OutputType::kFp32>(kernels);
}

template <GemmKnobs kKnobs>
void add_both_operations(KernelSet& kernels) {
  add<kKnobs, Op::kGemm>(kernels);
  add<kKnobs, Op::kDual>(kernels);
}

// Six stages of a dual product do not fit. The other choices of four have names.
void add_choices(KernelSet& kernels) {
  add_both_operations<kChoice<32, 4>>(kernels);
  add_both_operations<kChoice<96, 4>>(kernels);
  add<kChoice<16, 6>, Op::kGemm>(kernels);
  add<kChoice<32, 6>, Op::kGemm>(kernels);
  add<kChoice<64, 6>, Op::kGemm>(kernels);
  add<kChoice<96, 6>, Op::kGemm>(kernels);
  add<kChoice<128, 6>, Op::kGemm>(kernels);
}

}  // namespace

void add_block_scaled_kernels(KernelSet& kernels) {
  add_both_operations<kDefault>(kernels);
  add_both_operations<kFew>(kernels);
  add_both_operations<kHalf>(kernels);
  add<kWide, Op::kGemm>(kernels);  // two products of 256 tokens do not fit tensor memory
  add_both_operations<kShort>(kernels);
  add_both_operations<kFixed>(kernels);
  add_both_operations<kVectors>(kernels);
  add_both_operations<kPairs>(kernels);
  add_both_operations<kPasses>(kernels);
  add_both_operations<kPassesShort>(kernels);
  add_both_operations<kTall>(kernels);
  add_both_operations<kTallAndNarrow>(kernels);
  add<kTallPasses, Op::kDual>(kernels);
  add_both_operations<kStaged>(kernels);
  add_both_operations<kBalancedTiles>(kernels);
  add_both_operations<kHalves>(kernels);
  add_both_operations<kTallBalanced>(kernels);
  add_both_operations<kShared>(kernels);
  add_both_operations<kSharedBalanced>(kernels);
  add<kSharedPasses, Op::kDual>(kernels);
  add_both_operations<kTallBoxes>(kernels);
  add_both_operations<kBoxesInHalves>(kernels);
  add_choices(kernels);
}

}  // namespace thresher::emulated
