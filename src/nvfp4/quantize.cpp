// SPDX-License-Identifier: Apache-2.0
// Rounds matrices to NVFP4 by the rules checkpoint makers use (docs/nvfp4.md), and back.
//
// The arithmetic is FP32, operation by operation as ModelOpt orders it. That matters: bf16 weights
// often sit on a midpoint but for the rounding of the global scale, which FP32 rounds away again;
// more exact arithmetic would write different bytes for the same checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "nvfp4/check.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"
#include "thresher/error.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher {
namespace {

using namespace nvfp4;

float to_float(float value) { return value; }
float to_float(Fp16 value) { return fp16_to_float(value.bits); }
float to_float(Bf16 value) { return bf16_to_float(value.bits); }

// The largest magnitude. Refuses what NVFP4 cannot hold.
template <typename Value>
float finite_amax(std::span<const Value> values, std::int64_t k_elements) {
  float amax = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = to_float(values[i]);
    if (!std::isfinite(value)) {
      const auto index = static_cast<std::int64_t>(i);
      throw Error(fmt::format("quantize: row {}, column {}: {} cannot be quantised",
                              index / k_elements, index % k_elements, value));
    }
    amax = std::max(amax, std::fabs(value));
  }
  return amax;
}

// With this floor even the smallest block scale times the global scale is a normal FP32 number: no
// precision is lost, and arithmetic that flushes subnormals reads the same matrix.
constexpr float kGlobalScaleMin = FLT_MIN / decode_e4m3(kE4m3LeastCode);

// Puts the largest block's scale at E4M3's largest value; a matrix of zeros gets 1.
float global_scale_for(float amax) {
  if (amax == 0) return 1.0f;
  return std::max(amax / (kE2m1Max * kE4m3Max), kGlobalScaleMin);
}

// A block with a non-zero value keeps a non-zero scale, however small.
std::uint8_t block_scale_for(float amax, float global_scale) {
  const std::uint8_t code = encode_e4m3(amax / (kE2m1Max * global_scale));
  return std::max(code, kE4m3LeastCode);
}

// Writes 8 code bytes and returns the scale code; a block of zeros gets all zeros, signs dropped.
std::uint8_t quantize_block(const float* values, float global_scale, std::uint8_t* codes) {
  float amax = 0;
  for (int i = 0; i < kBlockElements; ++i) amax = std::max(amax, std::fabs(values[i]));
  if (amax == 0) {
    std::fill_n(codes, kBlockElements / 2, std::uint8_t{0});
    return 0;
  }
  const std::uint8_t scale = block_scale_for(amax, global_scale);
  const float step = decode_e4m3(scale) * global_scale;
  for (int i = 0; i < kBlockElements / 2; ++i) {
    const int low = encode_e2m1(values[2 * i] / step);
    const int high = encode_e2m1(values[2 * i + 1] / step);
    codes[i] = static_cast<std::uint8_t>(low | high << 4);
  }
  return scale;
}

template <typename Value>
Nvfp4Matrix quantize_matrix(std::span<const Value> values, std::int64_t rows,
                            std::int64_t k_elements, QuantizeOptions options) {
  check_matrix_extents("quantize", rows, k_elements);
  check_count("quantize",
              {.name = "values", .count = values.size(), .rows = rows, .columns = k_elements});
  const float amax = finite_amax(values, k_elements);

  Nvfp4Matrix matrix{.codes = std::vector<std::uint8_t>(values.size() / 2),
                     .scales = std::vector<std::uint8_t>(values.size() / kBlockElements),
                     .rows = rows,
                     .k_elements = k_elements,
                     .global_scale = options.global_scale ? global_scale_for(amax) : 1.0f};
  for (std::size_t block = 0; block < matrix.scales.size(); ++block) {
    float block_values[kBlockElements];
    for (int i = 0; i < kBlockElements; ++i) {
      block_values[i] = to_float(values[block * kBlockElements + i]);
    }
    matrix.scales[block] = quantize_block(block_values, matrix.global_scale,
                                          matrix.codes.data() + block * kBlockElements / 2);
  }
  return matrix;
}

}  // namespace

Nvfp4Matrix quantize(std::span<const float> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options) {
  return quantize_matrix(values, rows, k_elements, options);
}

Nvfp4Matrix quantize(std::span<const Fp16> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options) {
  return quantize_matrix(values, rows, k_elements, options);
}

Nvfp4Matrix quantize(std::span<const Bf16> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options) {
  return quantize_matrix(values, rows, k_elements, options);
}

// Code times scale is exact in FP32, so the global scale brings the only rounding.
std::vector<float> dequantize(const Nvfp4View& matrix) {
  check(matrix, "dequantize");
  std::vector<float> values(static_cast<std::size_t>(matrix.rows * matrix.k_elements));
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const std::uint8_t pair = matrix.codes[i / 2];
    const float scale = decode_e4m3(matrix.scales[i / kBlockElements]);
    values[i] = decode_e2m1(pair & 15) * scale * matrix.global_scale;
    values[i + 1] = decode_e2m1(pair >> 4) * scale * matrix.global_scale;
  }
  return values;
}

}  // namespace thresher
