// SPDX-License-Identifier: Apache-2.0
// Rows of a mixture-of-experts layer outside its products, 16 columns at a time: conversion,
// rounding to NVFP4, what stands between the products, the weighted sum. Compiled once per body, as
// finish.hpp is, with whose words it is written; kernels/layer_*.cuh takes the same steps, so that
// every device gives the same bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/body.hpp"
#include "cpu/columns.hpp"
#include "cpu/finish.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher::cpu {
namespace {

template <Output kType>
inline void load_columns(const void* row, std::int64_t first, Columns& out) {
  const auto* values = static_cast<const typename Stored<kType>::Type*>(row) + first;
  if constexpr (kType == Output::kFp32) {
    std::memcpy(&out, values, sizeof out);
  } else if constexpr (kType == Output::kBf16) {
    HalfColumns halves;
    std::memcpy(&halves, values, sizeof halves);
    const BitColumns bits = __builtin_convertvector(halves, BitColumns) << 16;
    out = reinterpret_cast<Columns>(bits);
  } else {
#if defined(__F16C__)
    float floats[kPanelColumns];
    for (int i = 0; i < kPanelColumns; i += 8) {
      _mm256_storeu_ps(
          floats + i,
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i))));
    }
    std::memcpy(&out, floats, sizeof out);
#else
    for (int i = 0; i < kPanelColumns; ++i) out[i] = nvfp4::fp16_to_float(values[i]);
#endif
  }
}

// E4M3 of a value that is not negative, to nearest even, saturating: nvfp4::encode_e4m3 without its
// detour through double.
inline std::uint8_t encode_scale(float value) {
  std::uint32_t bits;
  if (value < 0x1p-6f) {  // subnormal: in steps of 2^-9, which the sum's last digit is worth
    const float shifted = value + 0x1.8p14f;
    std::memcpy(&bits, &shifted, sizeof bits);
    return static_cast<std::uint8_t>(bits & 15);
  }
  if (!(value < nvfp4::kE4m3Max)) return nvfp4::kE4m3MaxCode;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint8_t>(((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120 << 3));
}

// The largest magnitude, by its bits, which are in the order of what they stand for: integers, that
// the compiler may compare in any order. NaN is the largest of all.
inline float largest_magnitude(const Columns& values) {
  std::uint32_t bits[kPanelColumns];
  std::memcpy(bits, &values, sizeof bits);
  std::uint32_t largest = 0;
  for (const std::uint32_t one : bits) {
    const std::uint32_t magnitude = one & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  float amax;
  std::memcpy(&amax, &largest, sizeof amax);
  return amax;
}

// Eight bytes that hold a code each become four that hold two, the first in the low nibble.
inline std::uint32_t pair_codes(std::uint64_t codes) {
  codes = (codes | codes >> 4) & 0x00ff00ff00ff00ff;
  codes = (codes | codes >> 8) & 0x0000ffff0000ffff;
  return static_cast<std::uint32_t>(codes | codes >> 16);
}

// A block of NVFP4 by the rule of nvfp4/quantize.cpp, operation by operation. Infinity becomes the
// largest value and NaN 0, in a block whose scale is the largest.
inline std::uint8_t quantize_columns(const Columns& values, float global_scale,
                                     std::uint8_t* codes) {
  const float amax = largest_magnitude(values);
  if (amax == 0) {
    std::memset(codes, 0, kBlockElements / 2);
    return 0;
  }
  const std::uint8_t encoded = encode_scale(amax / (nvfp4::kE2m1Max * global_scale));
  const std::uint8_t scale = encoded < nvfp4::kE4m3LeastCode ? nvfp4::kE4m3LeastCode : encoded;
  const float step = nvfp4::decode_e4m3(scale) * global_scale;
  const Columns quotients = values / step;
  const Columns magnitudes = quotients < 0.0f ? -quotients : quotients;
  const BitColumns signs = reinterpret_cast<BitColumns>(quotients) >> 31 << 3;
  // One step per midpoint between neighbours, as nvfp4::encode_e2m1 counts them; a comparison that
  // holds is -1.
  const auto steps =
      -((magnitudes > 0.25f) + (magnitudes >= 0.75f) + (magnitudes > 1.25f) +
        (magnitudes >= 1.75f) + (magnitudes > 2.5f) + (magnitudes >= 3.5f) + (magnitudes > 5.0f));
  const BitColumns of_columns = reinterpret_cast<BitColumns>(steps) | signs;
  using ByteColumns = std::uint8_t __attribute__((vector_size(kPanelColumns)));
  const ByteColumns bytes = __builtin_convertvector(of_columns, ByteColumns);
  std::uint64_t halves[2];
  std::memcpy(halves, &bytes, sizeof halves);
  const std::uint32_t paired[2] = {pair_codes(halves[0]), pair_codes(halves[1])};
  std::memcpy(codes, paired, sizeof paired);
  return scale;
}

// Puts 16 activations where the products read them.
template <Activations kTo>
inline void store_activations(const Columns& values, const ActivationRow& out, std::int64_t first) {
  if constexpr (kTo == Activations::kNvfp4) {
    out.scales[first / kBlockElements] = quantize_columns(
        values, out.global_scale, static_cast<std::uint8_t*>(out.values) + first / 2);
  } else if constexpr (kTo == Activations::kFp16) {
    round_to_fp16(values, static_cast<std::uint16_t*>(out.values) + first);
  } else {
    round_to_bf16(values, static_cast<std::uint16_t*>(out.values) + first);
  }
}

constexpr Output type_of(Activations activations) {
  return activations == Activations::kFp16 ? Output::kFp16 : Output::kBf16;
}

template <Output kFrom, Activations kTo>
void convert_row(const ConvertArgs& args) {
  // Values that are what they shall be keep their bits, NaN's included.
  if constexpr (kTo != Activations::kNvfp4 && kFrom == type_of(kTo)) {
    if (!args.weighted) {
      std::memcpy(args.out.values, args.x, static_cast<std::size_t>(args.count) * 2);
      return;
    }
  }
  for (std::int64_t first = 0; first < args.count; first += kPanelColumns) {
    Columns values;
    load_columns<kFrom>(args.x, first, values);
    if (args.weighted) values *= args.weight;
    store_activations<kTo>(values, args.out, first);
  }
}

inline void add_bias(const float* bias, std::int64_t first, Columns& values) {
  if (bias == nullptr) return;
  Columns biases;
  std::memcpy(&biases, bias + first, sizeof biases);
  values += biases;
}

// g * sigmoid(alpha * g), which is SiLU if alpha is 1.
inline void scaled_silu(const Columns& g, float alpha, Columns& out) {
  const Columns one = Columns{} + 1.0f;
  const Columns z = alpha * g;
  Columns t;
  exp_negative(z < 0.0f ? -z : z, t);
  Columns r;
  reciprocal(one + t, r);
  out = g * ((z < 0.0f ? t : one) * r);
}

inline void activated(const ActivateArgs& args, std::int64_t first, Columns& out) {
  Columns up;
  std::memcpy(&up, args.up + first, sizeof up);
  add_bias(args.up_bias, first, up);
  if (args.activation == MoeActivation::kSquaredRelu) {
    const Columns kept = up < 0.0f ? Columns{} : up;
    out = kept * kept;
    return;
  }
  Columns gate;
  std::memcpy(&gate, args.gate + first, sizeof gate);
  add_bias(args.gate_bias, first, gate);
  if (args.activation == MoeActivation::kClampedSilu) {
    const Columns limit = Columns{} + args.limit;
    gate = gate > limit ? limit : gate;
    up = up > limit ? limit : up;
    up = up < -limit ? -limit : up;
    up += args.beta;
  }
  Columns gated;
  scaled_silu(gate, args.activation == MoeActivation::kSilu ? 1.0f : args.alpha, gated);
  out = gated * up;
}

template <Activations kTo>
void activate_row(const ActivateArgs& args) {
  for (std::int64_t first = 0; first < args.count; first += kPanelColumns) {
    Columns values;
    activated(args, first, values);
    store_activations<kTo>(values, args.out, first);
  }
}

template <Output kOutput>
void combine_row(const CombineArgs& args) {
  using Element = typename Stored<kOutput>::Type;
  for (std::int64_t first = 0; first < args.count; first += kPanelColumns) {
    Columns sum = {};
    for (int slot = 0; slot < args.slot_count; ++slot) {
      const CombineSlot& from = args.slots[slot];
      Columns values;
      std::memcpy(&values, from.y + first, sizeof values);
      add_bias(from.bias, first, values);
      fuse(values, from.weight, sum, sum);
    }
    alignas(64) Element rounded[kPanelColumns];
    round_panel<kOutput>(sum, rounded);
    std::memcpy(static_cast<Element*>(args.out) + first, rounded, sizeof rounded);
  }
}

template <Output kFrom>
inline void set_convert_functions(LayerRows& rows) {
  auto& functions = rows.convert[static_cast<int>(kFrom)];
  functions[static_cast<int>(Activations::kNvfp4)] = convert_row<kFrom, Activations::kNvfp4>;
  functions[static_cast<int>(Activations::kFp16)] = convert_row<kFrom, Activations::kFp16>;
  functions[static_cast<int>(Activations::kBf16)] = convert_row<kFrom, Activations::kBf16>;
}

inline void set_layer_functions(LayerRows& rows) {
  set_convert_functions<Output::kFp16>(rows);
  set_convert_functions<Output::kBf16>(rows);
  set_convert_functions<Output::kFp32>(rows);
  rows.activate[static_cast<int>(Activations::kNvfp4)] = activate_row<Activations::kNvfp4>;
  rows.activate[static_cast<int>(Activations::kFp16)] = activate_row<Activations::kFp16>;
  rows.activate[static_cast<int>(Activations::kBf16)] = activate_row<Activations::kBf16>;
  rows.combine[static_cast<int>(Output::kFp16)] = combine_row<Output::kFp16>;
  rows.combine[static_cast<int>(Output::kBf16)] = combine_row<Output::kBf16>;
  rows.combine[static_cast<int>(Output::kFp32)] = combine_row<Output::kFp32>;
}

}  // namespace
}  // namespace thresher::cpu
