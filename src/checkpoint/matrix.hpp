// SPDX-License-Identifier: Apache-2.0
// An NVFP4 matrix in a checkpoint: which tensors it is made of, in either spelling, and its bytes.
//
//   ModelOpt              M.weight         M.weight_scale   M.weight_scale_2       M.input_scale
//   compressed-tensors    M.weight_packed  M.weight_scale   M.weight_global_scale
//   M.input_global_scale
//
// The last two of one are the reciprocals of the other's. What leaves this file are multipliers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

class State;

// Where a matrix lies. Without a format it is something else than NVFP4: `codes` are its values.
struct StoredMatrix {
  CheckpointFormat format = CheckpointFormat::kNone;
  std::string dtype;  // "NVFP4", or that of `codes`
  const Tensor* codes = nullptr;
  const Tensor* scales = nullptr;
  const Tensor* global_scale = nullptr;
  const Tensor* input_scale = nullptr;  // null: none
  const Tensor* bias = nullptr;         // null: none
  std::int64_t rows = 0;
  std::int64_t k_elements = 0;
};

// Whatever views and spans point into.
struct Keep {
  std::vector<std::shared_ptr<const void>> pieces;
};

struct LoadedMatrix {
  Nvfp4View view;
  float input_scale = 1.0f;
  const float* bias = nullptr;
};

// The matrix of a module. Throws Error if a part of it is missing or has another shape or type than
// the others ask for; no byte of it is read.
StoredMatrix locate_matrix(const State& state, const std::string& module);

// Throws Error on a NaN among the scales, naming its offset, and on global scales that are not
// positive numbers.
LoadedMatrix load_matrix(const State& state, const StoredMatrix& matrix, Keep& keep);

// One of the values of an F32 tensor, as a positive multiplier.
float load_scale(const State& state, const Tensor& tensor, std::int64_t index, bool is_reciprocal);

// F32, BF16, F16 and F64 as floats: `count` values from `first` on. Throws Error on a NaN among
// them, naming its offset.
std::vector<float> load_values(const State& state, const Tensor& tensor, std::int64_t first,
                               std::int64_t count);

// Throws Error naming the place of the first NaN among E4M3 scales of the tensor, of which `scales`
// are those from byte `first` on.
void check_scales(const State& state, const Tensor& tensor, const std::uint8_t* scales,
                  std::uint64_t first, std::uint64_t count);

// Whether the files say that activations are NVFP4 where they give scales for them.
bool input_scales_are_nvfp4(const State& state);

// Throw Error where there is none, on another shape, and on a type that load_values does not read.
const Tensor& need_tensor(const State& state, const std::string& name);
void need_shape(const State& state, const Tensor& tensor, const std::vector<std::int64_t>& shape);
void need_floats(const State& state, const Tensor& tensor);

std::int64_t value_count(const Tensor& tensor);
std::string shape_text(const Tensor& tensor);  // "[64, 128]"

}  // namespace thresher::checkpoint
