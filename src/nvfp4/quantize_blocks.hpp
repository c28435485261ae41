// SPDX-License-Identifier: Apache-2.0
// The quantiser's loops, written so that a compiler makes vector code of them, and compiled once
// per instruction set. Every name has internal linkage and nothing of the standard library is
// called: an inline function that the linker shares between these files could be one that the
// machine at hand cannot execute.
//
// Only sums and products that every instruction set rounds alike are used, so all bodies write the
// same bytes; quantize_test.cpp holds them to each other and to the plain definition.
#pragma once

#include <cstdint>

#include "nvfp4/quantize_rules.hpp"

namespace thresher::nvfp4 {
namespace {

constexpr int kBlock = static_cast<int>(kBlockElements);
constexpr int kBlocksAtOnce = 32;
constexpr std::uint32_t kMagnitudeBits = 0x7fffffffu;

std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

std::uint32_t float_bits(float value) { return bits_of(value); }
std::uint32_t float_bits(Bf16 value) { return static_cast<std::uint32_t>(value.bits) << 16; }
// Moving exponent and mantissa up leaves a number that is too small by 2^112, subnormals included.
std::uint32_t float_bits(Fp16 value) {
  const std::uint32_t magnitude = value.bits & 0x7fffu;
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return bits_of(float_of(magnitude << 13) * 0x1p112f) | special | sign;
}

// Magnitudes order as their bits do, which compilers turn into vector code without leave to
// reorder sums.
template <typename Value>
std::uint32_t amax_bits(const Value* values, std::int64_t count) {
  std::uint32_t amax = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = float_bits(values[i]) & kMagnitudeBits;
    amax = magnitude > amax ? magnitude : amax;
  }
  return amax;
}

// To nearest even, saturating at 448; `value` is not below zero.
std::uint32_t e4m3_code(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t normal = ((bits + 0x7ffffu + (bits >> 20 & 1u)) >> 20) - ((127u - 7u) << 3);
  // Adding 2^23 leaves a whole number of least values in the low bits, rounded to even.
  const std::uint32_t subnormal = bits_of(value * 0x1p9f + 0x1p23f) & 0xffu;
  const std::uint32_t code = value < 0x1p-6f ? subnormal : normal;
  return code < 0x7eu ? code : 0x7eu;
}

float e4m3_value(std::uint32_t code) {
  const float normal = float_of((code << 20) + ((127u - 7u) << 23));
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(code)) * 0x1p-9f;
  return code < 8 ? subnormal : normal;
}

// amax / 6 in the type of the weights, as compressed-tensors computes it; to nearest even.
float sixth(float amax, const float*) { return amax / 6.0f; }
float sixth(float amax, const Bf16*) {
  const std::uint32_t bits = bits_of(amax / 6.0f);
  return float_of((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}
float sixth(float amax, const Fp16*) {
  const float value = amax / 6.0f;
  const std::uint32_t bits = bits_of(value);
  const float normal = float_of((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
  // Beside 1/2, FP32's spacing is that of FP16's subnormals.
  const float subnormal = (value + 0.5f) - 0.5f;
  return value < 0x1p-14f ? subnormal : normal;
}

template <Rules rules, typename Value>
std::uint32_t scale_code(float amax, float global_scale) {
  if constexpr (rules == Rules::kCompressedTensors) {
    const std::uint32_t code =
        e4m3_code(global_scale * sixth(amax, static_cast<const Value*>(nullptr)));
    return code == 0 ? 0x20u : code;
  } else {
    const float scale = amax / (6.0f * global_scale);
    const std::uint32_t code = e4m3_code(scale);
    const std::uint32_t kept = code == 0 ? 1u : code;
    if constexpr (rules == Rules::kModelOpt) return scale == 0 ? 0x38u : kept;
    return amax == 0 ? 0u : kept;
  }
}

template <Rules rules>
float step_of(std::uint32_t code, float global_scale) {
  const float scale = e4m3_value(code);
  return rules == Rules::kCompressedTensors ? scale / global_scale : scale * global_scale;
}

constexpr std::int32_t kQuarter = __builtin_bit_cast(std::int32_t, 0.25f);
constexpr std::int32_t kBelow3Quarters = __builtin_bit_cast(std::int32_t, 0.75f) - 1;
constexpr std::int32_t k5Quarters = __builtin_bit_cast(std::int32_t, 1.25f);
constexpr std::int32_t kBelow7Quarters = __builtin_bit_cast(std::int32_t, 1.75f) - 1;
constexpr std::int32_t k5Halves = __builtin_bit_cast(std::int32_t, 2.5f);
constexpr std::int32_t kBelow7Halves = __builtin_bit_cast(std::int32_t, 3.5f) - 1;
constexpr std::int32_t kFive = __builtin_bit_cast(std::int32_t, 5.0f);

// One step per midpoint between neighbours; a midpoint itself belongs to its even neighbour.
template <Rules rules>
void write_codes(const float* values, float step, std::uint8_t* codes) {
  std::int32_t each[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    const auto bits = static_cast<std::int32_t>(bits_of(values[i] / step));
    const std::int32_t magnitude = bits & 0x7fffffff;
    const std::int32_t sign = bits >> 28 & 8;
    const std::int32_t kept = rules == Rules::kThresher || magnitude > 0 ? sign : 0;
    each[i] = kept + (magnitude > kQuarter) + (magnitude > kBelow3Quarters) +
              (magnitude > k5Quarters) + (magnitude > kBelow7Quarters) + (magnitude > k5Halves) +
              (magnitude > kBelow7Halves) + (magnitude > kFive);
  }
  // Two neighbours as one number of 64 bits, which moves them together in one step.
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  std::uint64_t pairs[kBlock / 2];
  __builtin_memcpy(pairs, each, sizeof pairs);
  for (int i = 0; i < kBlock / 2; ++i) {
    codes[i] = static_cast<std::uint8_t>(pairs[i] | pairs[i] >> 28);
  }
}

// At most kBlocksAtOnce blocks: widen, find scales of all of them, then codes.
template <Rules rules, typename Value>
std::uint32_t quantize_some(const QuantizeJob<Value>& job) {
  float values[kBlocksAtOnce * kBlock];
  float amax[kBlocksAtOnce];
  float step[kBlocksAtOnce];
  const int block_count = static_cast<int>(job.block_count);
  for (int i = 0; i < block_count * kBlock; ++i) values[i] = float_of(float_bits(job.values[i]));
  std::uint32_t largest = 0;
  for (int b = 0; b < block_count; ++b) {
    const std::uint32_t bits = amax_bits(values + b * kBlock, kBlock);
    amax[b] = float_of(bits);
    largest = bits > largest ? bits : largest;
  }
  if (largest >= 0x7f800000u) return largest;
  for (int b = 0; b < block_count; ++b) {
    const std::uint32_t code = scale_code<rules, Value>(amax[b], job.global_scale);
    job.scales[b] = static_cast<std::uint8_t>(code);
    step[b] = step_of<rules>(code, job.global_scale);
  }
  for (int b = 0; b < block_count; ++b) {
    std::uint8_t* codes = job.codes + b * kBlock / 2;
    if (rules == Rules::kThresher && job.scales[b] == 0) {
      for (int i = 0; i < kBlock / 2; ++i) codes[i] = 0;
    } else {
      write_codes<rules>(values + b * kBlock, step[b], codes);
    }
  }
  return largest;
}

template <Rules rules, typename Value>
std::uint32_t quantize_blocks(const QuantizeJob<Value>& job) {
  std::uint32_t largest = 0;
  for (std::int64_t first = 0; first < job.block_count; first += kBlocksAtOnce) {
    const std::int64_t rest = job.block_count - first;
    const std::uint32_t bits =
        quantize_some<rules, Value>({.values = job.values + first * kBlock,
                                     .block_count = rest < kBlocksAtOnce ? rest : kBlocksAtOnce,
                                     .global_scale = job.global_scale,
                                     .codes = job.codes + first * kBlock / 2,
                                     .scales = job.scales + first});
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

template <typename Value>
constexpr QuantizeKernels<Value> quantize_kernels() {
  return {amax_bits<Value>,
          {quantize_blocks<Rules::kThresher, Value>, quantize_blocks<Rules::kModelOpt, Value>,
           quantize_blocks<Rules::kCompressedTensors, Value>}};
}

constexpr QuantizeBody kBodyOfThisFile{quantize_kernels<float>(), quantize_kernels<Fp16>(),
                                       quantize_kernels<Bf16>()};

}  // namespace
}  // namespace thresher::nvfp4
