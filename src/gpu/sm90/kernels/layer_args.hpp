// SPDX-License-Identifier: Apache-2.0
// What the kernels around the products of a mixture-of-experts layer are told, and what they are
// compiled for: plain structs, the same on host and device. backend/layer.hpp has the words.
#pragma once

#include "gpu/sm90/kernels/gemm_config.hpp"

namespace thresher::gpu::sm90 {

enum class LayerStep : u8 { kGather, kActivate, kCombine };

// In the order of thresher's MoeActivation; kNone: values are only rounded.
enum class LayerActivation : u8 { kSilu, kClampedSilu, kSquaredRelu, kNone };

struct LayerConfig {
  LayerStep step = LayerStep::kGather;
  ActivationType activations = ActivationType::kBf16;  // gather, activate
  OutputType type = OutputType::kBf16;                 // gather: of x; combine: of out

  bool operator==(const LayerConfig&) const = default;
};

inline constexpr int kLayerThreads = 256;
// Of values that a thread takes at a time: a block of NVFP4, and what one load of y carries.
inline constexpr u32 kLayerChunk = 16;
inline constexpr u32 kCombineChunk = 4;
inline constexpr u32 kLayerNoRow = ~0u;

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
  const float* y = nullptr;
  const float* input_scales = nullptr;
  const float* down_input_scales = nullptr;
  const float* gate_biases = nullptr;
  const float* up_biases = nullptr;
  const float* down_biases = nullptr;

  THRESHER_DEVICE u32 group_count() const { return expert_count + shared_count; }
  THRESHER_DEVICE u32 slot_count() const { return top_k + shared_count; }
};

}  // namespace thresher::gpu::sm90
