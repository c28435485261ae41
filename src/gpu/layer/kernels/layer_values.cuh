// SPDX-License-Identifier: Apache-2.0
// Sixteen values of a layer's row, loaded from any type, activated, and stored as the products read
// them. The steps are those of cpu/layer_rows.hpp, operation by operation.
#pragma once

#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/gemm/kernels/silu.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/layer/kernels/layer_args.hpp"

namespace thresher::gpu {

struct LayerValues {
  float of[kLayerChunk];

  // `values` is aligned to 16 bytes.
  template <OutputType kType>
  static THRESHER_DEVICE LayerValues load(const u8* values) {
    LayerValues loaded;
    if constexpr (kType == OutputType::kFp32) {
      THRESHER_UNROLL
      for (u32 i = 0; i < kLayerChunk; i += 4) {
        const auto words = hw::load_global(reinterpret_cast<const U32x4*>(values + 4 * i));
        const u32 bits[4] = {words.x, words.y, words.z, words.w};
        THRESHER_UNROLL
        for (u32 j = 0; j < 4; ++j) loaded.of[i + j] = hw::bits_to_float(bits[j]);
      }
    } else {
      THRESHER_UNROLL
      for (u32 i = 0; i < kLayerChunk; i += 8) {
        const auto words = hw::load_global(reinterpret_cast<const U32x4*>(values + 2 * i));
        const u32 pairs[4] = {words.x, words.y, words.z, words.w};
        THRESHER_UNROLL
        for (u32 j = 0; j < 4; ++j) {
          constexpr bool kHalf = kType == OutputType::kFp16;
          loaded.of[i + 2 * j] = kHalf ? hw::fp16_low(pairs[j]) : hw::bf16_low(pairs[j]);
          loaded.of[i + 2 * j + 1] = kHalf ? hw::fp16_high(pairs[j]) : hw::bf16_high(pairs[j]);
        }
      }
    }
    return loaded;
  }

  static THRESHER_DEVICE LayerValues load_floats(const float* values) {
    return load<OutputType::kFp32>(reinterpret_cast<const u8*>(values));
  }
};

// E4M3 of a value that is not negative, to nearest even, saturating.
THRESHER_DEVICE u32 encode_scale(float value) {
  // Subnormal: in steps of 2^-9, which the sum's last digit is worth.
  if (value < 0.015625f) return hw::float_to_bits(value + 24576.0f) & 15;
  if (!(value < 448.0f)) return 0x7e;
  const u32 bits = hw::float_to_bits(value);
  return ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120 << 3);
}

THRESHER_DEVICE float decode_scale(u32 code) { return hw::fp16_low(hw::unpack_e4m3x2(code)); }

// To nearest, ties to the even code, saturating; the sign is kept.
THRESHER_DEVICE u32 encode_code(float value) {
  const float magnitude = value < 0.0f ? -value : value;
  const u32 steps = (magnitude > 0.25f ? 1u : 0u) + (magnitude >= 0.75f ? 1u : 0u) +
                    (magnitude > 1.25f ? 1u : 0u) + (magnitude >= 1.75f ? 1u : 0u) +
                    (magnitude > 2.5f ? 1u : 0u) + (magnitude >= 3.5f ? 1u : 0u) +
                    (magnitude > 5.0f ? 1u : 0u);
  return steps | hw::float_to_bits(value) >> 31 << 3;
}

struct QuantizedBlock {
  U32x2 codes;
  u8 scale = 0;
};

THRESHER_DEVICE QuantizedBlock quantize_block(const LayerValues& values, float global_scale) {
  // By their bits magnitudes have the same order, and NaN is the largest of all.
  u32 largest = 0;
  THRESHER_UNROLL
  for (u32 i = 0; i < kLayerChunk; ++i) {
    const u32 magnitude = hw::float_to_bits(values.of[i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  const float amax = hw::bits_to_float(largest);
  if (amax == 0.0f) return {};
  const u32 encoded = encode_scale(amax / (6.0f * global_scale));
  const u32 scale = encoded < 1 ? 1 : encoded;
  const float step = decode_scale(scale) * global_scale;
  u32 words[2] = {0, 0};
  THRESHER_UNROLL
  for (u32 i = 0; i < kLayerChunk; ++i) {
    words[i / 8] |= encode_code(values.of[i] / step) << (4 * (i % 8));
  }
  return {{words[0], words[1]}, static_cast<u8>(scale)};
}

// A row of activations to write: 16-bit values, or NVFP4 in units of the global scale of its group.
template <ActivationType kActivations>
struct ActivationTarget {
  u8* values;
  u8* scales;
  float global_scale;

  // Row `row` of rows of `count` values. Global scales are one per group, and NVFP4's alone.
  static THRESHER_DEVICE ActivationTarget of_row(u8* values, u8* scales, u64 row, u32 count,
                                                 const float* global_scales, u32 group) {
    if constexpr (kActivations == ActivationType::kNvfp4) {
      return {values + row * (count / 2), scales + row * (count / kLayerChunk),
              hw::load_global(global_scales + group)};
    }
    return {values + row * count * 2, nullptr, 1.0f};
  }

  // `first` counts values of the row.
  THRESHER_DEVICE void store(const LayerValues& from, u32 first) const {
    if constexpr (kActivations == ActivationType::kNvfp4) {
      const QuantizedBlock block = quantize_block(from, global_scale);
      hw::store_global(reinterpret_cast<U32x2*>(values + first / 2), block.codes);
      hw::store_global(scales + first / kLayerChunk, block.scale);
    } else {
      THRESHER_UNROLL
      for (u32 i = 0; i < kLayerChunk; i += 8) {
        const auto pair = [&](u32 at) {
          constexpr auto kType =
              kActivations == ActivationType::kFp16 ? OutputType::kFp16 : OutputType::kBf16;
          return pack_pair<kType>(from.of[i + at], from.of[i + at + 1]);
        };
        hw::store_global(reinterpret_cast<U32x4*>(values + 2 * (first + i)),
                         U32x4{pair(0), pair(2), pair(4), pair(6)});
      }
    }
  }
};

// g * sigmoid(alpha * g).
THRESHER_DEVICE float scaled_silu(float g, float alpha) {
  const float z = alpha * g;
  const float t = exp_negative(z < 0.0f ? -z : z);
  return g * ((z < 0.0f ? t : 1.0f) * reciprocal(1.0f + t));
}

THRESHER_DEVICE float activated(const LayerArgs& args, float gate, float up) {
  if (args.activation == LayerActivation::kSquaredRelu) {
    const float kept = up < 0.0f ? 0.0f : up;
    return kept * kept;
  }
  if (args.activation == LayerActivation::kSilu) return scaled_silu(gate, 1.0f) * up;
  gate = gate > args.limit ? args.limit : gate;
  up = up > args.limit ? args.limit : up;
  up = up < -args.limit ? -args.limit : up;
  return scaled_silu(gate, args.alpha) * (up + args.beta);
}

}  // namespace thresher::gpu
