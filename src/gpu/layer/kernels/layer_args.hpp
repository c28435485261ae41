// SPDX-License-Identifier: Apache-2.0
// What the kernels around the products of a mixture-of-experts layer are told, and what they are
// compiled for: plain structs, the same on host and device. backend/layer.hpp has the words.
#pragma once

#include "factor.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"

namespace thresher::gpu {

// kFirst and kDown are the products of calls of few tokens (few_rows.cuh).
enum class LayerStep : u8 { kGather, kActivate, kCombine, kFirst, kDown };

// How the first product's weights of a call of few tokens are packed: gate and up in one, each for
// itself, or up alone.
enum class FewKind : u8 { kDual, kPaired, kSingle };

THRESHER_DEVICE constexpr bool is_few(LayerStep step) {
  return step == LayerStep::kFirst || step == LayerStep::kDown;
}

// In the order of thresher's MoeActivation; kNone: values are only rounded.
enum class LayerActivation : u8 { kSilu, kClampedSilu, kSquaredRelu, kNone };

struct LayerConfig {
  LayerStep step = LayerStep::kGather;
  ActivationType activations = ActivationType::kBf16;  // all but combine
  OutputType type = OutputType::kBf16;                 // gather, first: of x; combine: of out
  u32 strips = 2;                                      // first, down: of a piece

  bool operator==(const LayerConfig&) const = default;
};

inline constexpr int kLayerThreads = 256;
// Of values that a thread takes at a time: a block of NVFP4, and what one load of y carries.
inline constexpr u32 kLayerChunk = 16;
inline constexpr u32 kCombineChunk = 4;
inline constexpr u32 kLayerNoRow = ~0u;

// Calls of few tokens: rows of a call, rows that an MMA takes, the shared memory of few_book.cuh.
inline constexpr u32 kFewRowsMax = 512;
inline constexpr u32 kFewColumns = 8;
inline constexpr int kFewBlocksPerSm = 2;
inline constexpr u32 kFewBookBytes =
    4 * kFewRowsMax + kFewRowsMax / 8 + 2 * kFewRowsMax * kFewColumns;
// K tiles that a warp has on their way.
THRESHER_DEVICE constexpr u32 few_tiles(u32 strips) { return strips == 2 ? 3 : 2; }
// Floats from one column's sums to the next, so that no two lanes of a store meet in a bank.
THRESHER_DEVICE constexpr u32 few_sums_pitch(u32 strips) { return 16 * strips + 4; }

// A group's weights and what their sums are multiplied by. backend::LayerGroup, as kernels see it.
struct LayerExpert {
  u64 first = 0;  // gate and up, or the gate
  u64 up = 0;
  u64 down = 0;
  Factor factor;
  Factor factor_up;
  Factor factor_down;
};

struct LayerArgs {
  // The call's.
  const u8* x = nullptr;
  u64 x_row_bytes = 0;
  const u32* ids = nullptr;  // negative ones are numbers beyond every expert
  const float* weights = nullptr;
  const float* shared_weights = nullptr;  // null: all are 1
  u8* out = nullptr;
  u64 out_row_bytes = 0;
  u32 token_count = 0;
  u32 part_count = 1;  // gather: blocks that share the rows of a group

  // The layer's.
  u32 hidden = 0;
  u32 intermediate = 0;
  u32 expert_count = 0;
  u32 shared_count = 0;
  u32 top_k = 0;
  u32 first_expert = 0;
  u32 weight_on_input = 0;
  LayerActivation activation = LayerActivation::kSilu;
  float alpha = 1.0f;
  float beta = 0.0f;
  float limit = 0.0f;

  const LayerExpert* experts = nullptr;  // by group
  FewKind first_kind = FewKind::kDual;
  u32* counts = nullptr;  // of all groups; behind them, of all rows
  u32* slot_of_row = nullptr;
  u32* row_of_slot = nullptr;
  u32* group_of_row = nullptr;
  u8* a = nullptr;
  u8* a_scales = nullptr;
  const float* gate = nullptr;
  const float* up = nullptr;
  u8* h = nullptr;
  u8* h_scales = nullptr;
  float* y = nullptr;
  const float* input_scales = nullptr;
  const float* down_input_scales = nullptr;
  const float* gate_biases = nullptr;
  const float* up_biases = nullptr;
  const float* down_biases = nullptr;

  THRESHER_DEVICE u32 group_count() const { return expert_count + shared_count; }
  THRESHER_DEVICE u32 slot_count() const { return top_k + shared_count; }
  // Of a routed slot; kLayerNoRow: nobody's. A negative id is at least 2^31 here, or wraps around
  // to less than that beyond all experts.
  THRESHER_DEVICE u32 group_of(u32 id) const {
    const u32 expert = id - first_expert;
    return id < 0x80000000u && id >= first_expert && expert < expert_count ? expert : kLayerNoRow;
  }
};

}  // namespace thresher::gpu
