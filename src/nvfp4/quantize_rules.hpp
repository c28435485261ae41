// SPDX-License-Identifier: Apache-2.0
// By whose rules a block is rounded. The rules agree in what they mean and differ in bytes: in how
// a block of zeros and a negative zero are written, and in the order of FP32 operations.
//
//   kThresher           scale = e4m3(amax / (6 * global)), at least 2^-9; step = scale * global. A
//                       block of zeros is all zero bits; a value that rounds to zero keeps its
//                       sign.
//   kModelOpt           the same scale and step; where it would be 0 it is 1. Only what is below
//   zero
//                       has a sign.
//   kCompressedTensors  scale = e4m3(reciprocal * (amax / 6)); where it is 0 it is 1/8; step =
//   scale
//                       / reciprocal. amax / 6 is rounded to the weights' own type first. Signs as
//                       ModelOpt's.
#pragma once

#include <cstdint>

#include "thresher/nvfp4.hpp"

namespace thresher::nvfp4 {

enum class Rules : std::uint8_t { kThresher, kModelOpt, kCompressedTensors };

// What a body of kernels reads and writes: `block_count` blocks that follow each other. For
// kCompressedTensors `global_scale` is the reciprocal, as those files store it.
template <typename Value>
struct QuantizeJob {
  const Value* values;
  std::int64_t block_count;
  float global_scale;
  std::uint8_t* codes;
  std::uint8_t* scales;
};

// The kernels compiled for one instruction set. `amax` gives the bits of the largest magnitude:
// 0x7f800000 and more where there is an infinity or a NaN. `quantize` gives the same, and what it
// then wrote means nothing.
template <typename Value>
struct QuantizeKernels {
  std::uint32_t (*amax)(const Value* values, std::int64_t count);
  std::uint32_t (*quantize[3])(const QuantizeJob<Value>& job);  // by Rules
};

struct QuantizeBody {
  QuantizeKernels<float> fp32;
  QuantizeKernels<Fp16> fp16;
  QuantizeKernels<Bf16> bf16;
};

const QuantizeBody& portable_quantize_body();
const QuantizeBody& avx2_quantize_body();
const QuantizeBody& avx512_quantize_body();
// The best that this machine can execute.
const QuantizeBody& quantize_body();

// The global scale of a matrix, or of several that share one, by a maker's rules. For
// kCompressedTensors it is the reciprocal, and `Value` is the type whose arithmetic it comes from.
template <typename Value>
float global_scale_for(Rules rules, float amax);

// The whole of a matrix by somebody's rules, on threads. `matrix` is what messages call it.
template <typename Value>
struct QuantizeRun {
  const char* matrix = "quantize";
  std::span<const Value> values;
  Nvfp4Buffer out;
  Rules rules = Rules::kThresher;
  float global_scale = 1.0f;
  int thread_count = 0;
};
template <typename Value>
void quantize_by_rules(const QuantizeRun<Value>& run);

// The largest magnitude; throws Error on NaN and infinity, naming row and column.
template <typename Value>
float finite_amax(const char* matrix, std::span<const Value> values, std::int64_t k_elements,
                  int thread_count);

}  // namespace thresher::nvfp4
