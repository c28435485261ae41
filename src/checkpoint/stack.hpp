// SPDX-License-Identifier: Apache-2.0
// Stacked experts: all matrices of a kind in one tensor per layer, packed along the other
// dimension.
//
// ModelOpt writes the experts of Llama-4 and GPT-OSS so: S is U8 [E, K/2, N], S_weight_scale E4M3
// [E, K/16, N], S_weight_scale_2 and S_input_scale one value or E of them, S_bias [E, N], for S =
// gate_up_proj and down_proj. Byte (e, i, n) holds elements 2i and 2i + 1 of row n, so a matrix in
// checkpoint order is the transpose of an expert's bytes. Rows of gate_up are gate's and then up's,
// or (GPT-OSS) take turns.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/matrix.hpp"

namespace thresher::checkpoint {

struct StoredStack {
  CheckpointFormat format = CheckpointFormat::kNone;
  std::string dtype;  // "NVFP4", or that of the tensor
  const Tensor* codes = nullptr;
  const Tensor* scales = nullptr;
  const Tensor* global_scale = nullptr;
  const Tensor* input_scale = nullptr;  // null: none
  const Tensor* bias = nullptr;         // null: none
  std::int64_t expert_count = 0;
  std::int64_t rows = 0;
  std::int64_t k_elements = 0;
  bool rows_first = false;  // [E, N, K], where experts are not NVFP4 (transformers' Qwen3.5)
};

// `name` is the stack's, "model.layers.0.feed_forward.experts.gate_up_proj". Throws Error as
// locate_matrix does.
StoredStack locate_stack(const State& state, const std::string& name, bool rows_first);

// One expert's matrix in checkpoint order, in memory of its own. `interleaved`: even rows first,
// odd ones after them, which makes of rows that take turns gate's and then up's.
LoadedMatrix load_stacked(const State& state, const StoredStack& stack, std::int64_t expert,
                          bool interleaved, Keep& keep);

// out[r(i)][j] = in[j][i] for i < rows and j < columns, r(i) = i or as `interleaved` says. Rows of
// both follow each other without gaps.
void transpose_bytes(const std::uint8_t* in, std::int64_t rows, std::int64_t columns,
                     bool interleaved, std::uint8_t* out);

}  // namespace thresher::checkpoint
