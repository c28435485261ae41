// SPDX-License-Identifier: Apache-2.0
// Rounds matrices to NVFP4 by the rules checkpoint makers use (docs/nvfp4.md), and back.
//
// The arithmetic is FP32, operation by operation as ModelOpt orders it. That matters: bf16 weights
// often sit on a midpoint but for the rounding of the global scale, which FP32 rounds away again;
// more exact arithmetic would write different bytes for the same checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>

#include "nvfp4/check.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"
#include "nvfp4/quantize_rules.hpp"
#include "parallel.hpp"
#include "rounding.hpp"
#include "thresher/error.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher {
namespace nvfp4 {

const QuantizeBody& quantize_body() {
#if defined(__x86_64__)
  static const QuantizeBody& best = [&]() -> const QuantizeBody& {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
      return avx512_quantize_body();
    }
    return __builtin_cpu_supports("avx2") ? avx2_quantize_body() : portable_quantize_body();
  }();
  return best;
#else
  return portable_quantize_body();
#endif
}

namespace {

constexpr std::uint32_t kInfinityBits = 0x7f800000u;
// What a thread takes at a time, and what makes a second one worth its start.
constexpr std::int64_t kPieceBlocks = 4096;
constexpr std::int64_t kThreadElementsMin = 1 << 19;

float to_float(float value) { return value; }
float to_float(Fp16 value) { return fp16_to_float(value.bits); }
float to_float(Bf16 value) { return bf16_to_float(value.bits); }

const QuantizeKernels<float>& kernels_for(const float*) { return quantize_body().fp32; }
const QuantizeKernels<Fp16>& kernels_for(const Fp16*) { return quantize_body().fp16; }
const QuantizeKernels<Bf16>& kernels_for(const Bf16*) { return quantize_body().bf16; }

int threads_that_pay(std::size_t element_count, int asked) {
  const std::int64_t pay = static_cast<std::int64_t>(element_count) / kThreadElementsMin + 1;
  const int limit = asked > 0 ? asked : hardware_thread_count();
  return static_cast<int>(std::min<std::int64_t>(pay, limit));
}

// NVFP4 cannot hold it.
template <typename Value>
[[noreturn]] void throw_not_finite(const char* matrix, std::span<const Value> values,
                                   std::int64_t k_elements) {
  std::size_t i = 0;
  while (std::isfinite(to_float(values[i]))) ++i;
  const auto index = static_cast<std::int64_t>(i);
  throw Error(fmt::format("{}: row {}, column {}: {} cannot be quantised", matrix,
                          index / k_elements, index % k_elements, to_float(values[i])));
}

// work(first_block, block_count) gives the bits of a largest magnitude; the largest of all.
template <class Work>
std::uint32_t largest_of_pieces(std::int64_t block_count, int thread_count, const Work& work) {
  std::atomic<std::uint32_t> largest{0};
  const std::int64_t pieces = divide_up(block_count, kPieceBlocks);
  for_each_in_parallel(pieces, thread_count, [&](std::int64_t i) {
    const std::int64_t first = i * kPieceBlocks;
    const std::uint32_t bits = work(first, std::min(kPieceBlocks, block_count - first));
    std::uint32_t seen = largest.load(std::memory_order_relaxed);
    while (bits > seen && !largest.compare_exchange_weak(seen, bits)) {
    }
  });
  return largest;
}

// With this floor even the smallest block scale times the global scale is a normal FP32 number: no
// precision is lost, and arithmetic that flushes subnormals reads the same matrix.
constexpr float kGlobalScaleMin = FLT_MIN / decode_e4m3(kE4m3LeastCode);

float in_type_of(float value, const float*) { return value; }
float in_type_of(float value, const Bf16*) { return bf16_to_float(float_to_bf16(value)); }
float in_type_of(float value, const Fp16*) { return fp16_to_float(float_to_fp16(value)); }

// In the weights' own arithmetic, a reciprocal and then a product, as compressed-tensors computes
// it; a matrix of zeros gets 1. It also gives 1 to FP16 weights that are smaller than 0.041, where
// the product overflows, which costs them most of their bits: those are computed in FP32 here.
template <typename Value>
float reciprocal_scale(float amax) {
  const Value* type = nullptr;
  const float inverse = in_type_of(1.0f / std::max(amax, FLT_MIN), type);
  const float scale = in_type_of(inverse * (kE2m1Max * kE4m3Max), type);
  if (std::isfinite(scale)) return scale;
  if constexpr (std::is_same_v<Value, Fp16>) return reciprocal_scale<float>(amax);
  return 1.0f;
}

void check_given(float scale) {
  if (scale >= kGlobalScaleMin && scale <= FLT_MAX) return;
  throw Error(fmt::format("quantize: given_global_scale = {} is not in {}..{}", scale,
                          kGlobalScaleMin, FLT_MAX));
}

}  // namespace

template <typename Value>
float finite_amax(const char* matrix, std::span<const Value> values, std::int64_t k_elements,
                  int thread_count) {
  const auto block_count = static_cast<std::int64_t>(values.size()) / kBlockElements;
  const std::uint32_t bits =
      largest_of_pieces(block_count, threads_that_pay(values.size(), thread_count),
                        [&](std::int64_t first, std::int64_t count) {
                          return kernels_for(values.data())
                              .amax(values.data() + first * kBlockElements, count * kBlockElements);
                        });
  if (bits >= kInfinityBits) throw_not_finite(matrix, values, k_elements);
  return std::bit_cast<float>(bits);
}

// Puts the largest block's scale at E4M3's largest value; a matrix of zeros gets 1.
template <typename Value>
float global_scale_for(Rules rules, float amax) {
  if (rules == Rules::kCompressedTensors) return reciprocal_scale<Value>(amax);
  if (amax == 0) return 1.0f;
  return std::max(amax / (kE2m1Max * kE4m3Max), kGlobalScaleMin);
}

template <typename Value>
void quantize_by_rules(const QuantizeRun<Value>& run) {
  const QuantizeKernels<Value>& kernels = kernels_for(run.values.data());
  const auto block_count = static_cast<std::int64_t>(run.values.size()) / kBlockElements;
  const std::uint32_t bits =
      largest_of_pieces(block_count, threads_that_pay(run.values.size(), run.thread_count),
                        [&](std::int64_t first, std::int64_t count) {
                          return kernels.quantize[static_cast<int>(run.rules)](
                              {.values = run.values.data() + first * kBlockElements,
                               .block_count = count,
                               .global_scale = run.global_scale,
                               .codes = run.out.codes + first * kBlockElements / 2,
                               .scales = run.out.scales + first});
                        });
  if (bits >= kInfinityBits) throw_not_finite(run.matrix, run.values, run.out.k_elements);
}

template float finite_amax(const char*, std::span<const float>, std::int64_t, int);
template float finite_amax(const char*, std::span<const Fp16>, std::int64_t, int);
template float finite_amax(const char*, std::span<const Bf16>, std::int64_t, int);
template float global_scale_for<float>(Rules, float);
template float global_scale_for<Fp16>(Rules, float);
template float global_scale_for<Bf16>(Rules, float);
template void quantize_by_rules(const QuantizeRun<float>&);
template void quantize_by_rules(const QuantizeRun<Fp16>&);
template void quantize_by_rules(const QuantizeRun<Bf16>&);

namespace {

template <typename Value>
float chosen_scale(std::span<const Value> values, std::int64_t k_elements,
                   const QuantizeOptions& options) {
  if (options.given_global_scale != 0) {
    check_given(options.given_global_scale);
    return options.given_global_scale;
  }
  if (!options.global_scale) return 1.0f;
  return global_scale_for<Value>(Rules::kThresher,
                                 finite_amax("quantize", values, k_elements, options.thread_count));
}

template <typename Value>
Nvfp4View quantize_into(std::span<const Value> values, const Nvfp4Buffer& out,
                        const QuantizeOptions& options) {
  check_matrix_extents("quantize", out.rows, out.k_elements);
  check_count(
      "quantize",
      {.name = "values", .count = values.size(), .rows = out.rows, .columns = out.k_elements});
  if (options.thread_count < 0) {
    throw Error(fmt::format("quantize: thread_count = {} is below 0", options.thread_count));
  }
  if (!values.empty() && out.codes == nullptr) throw Error("quantize: codes is null");
  if (!values.empty() && out.scales == nullptr) throw Error("quantize: scales is null");
  const float scale = chosen_scale(values, out.k_elements, options);
  quantize_by_rules<Value>(
      {.values = values, .out = out, .global_scale = scale, .thread_count = options.thread_count});
  return {out.codes, out.scales, out.rows, out.k_elements, scale};
}

template <typename Value>
Nvfp4Matrix quantize_matrix(std::span<const Value> values, std::int64_t rows,
                            std::int64_t k_elements, const QuantizeOptions& options) {
  // Before anything of that size is allocated.
  check_matrix_extents("quantize", rows, k_elements);
  check_count("quantize",
              {.name = "values", .count = values.size(), .rows = rows, .columns = k_elements});
  Nvfp4Matrix matrix{.codes = std::vector<std::uint8_t>(values.size() / 2),
                     .scales = std::vector<std::uint8_t>(values.size() / kBlockElements),
                     .rows = rows,
                     .k_elements = k_elements};
  matrix.global_scale =
      quantize_into(values, {matrix.codes.data(), matrix.scales.data(), rows, k_elements}, options)
          .global_scale;
  return matrix;
}

}  // namespace
}  // namespace nvfp4

using nvfp4::quantize_into;
using nvfp4::quantize_matrix;

Nvfp4Matrix quantize(std::span<const float> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options) {
  return quantize_matrix(values, rows, k_elements, options);
}

Nvfp4View quantize(std::span<const float> values, const Nvfp4Buffer& out, QuantizeOptions options) {
  return quantize_into(values, out, options);
}

Nvfp4Matrix quantize(std::span<const Fp16> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options) {
  return quantize_matrix(values, rows, k_elements, options);
}

Nvfp4View quantize(std::span<const Fp16> values, const Nvfp4Buffer& out, QuantizeOptions options) {
  return quantize_into(values, out, options);
}

Nvfp4Matrix quantize(std::span<const Bf16> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options) {
  return quantize_matrix(values, rows, k_elements, options);
}

Nvfp4View quantize(std::span<const Bf16> values, const Nvfp4Buffer& out, QuantizeOptions options) {
  return quantize_into(values, out, options);
}

// Code times scale is exact in FP32, so the global scale brings the only rounding.
std::vector<float> dequantize(const Nvfp4View& matrix) {
  using namespace nvfp4;
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
