// SPDX-License-Identifier: Apache-2.0
// The W4A16 tile: fp16 or bf16 activations, weights decoded in registers, FP32 multiply-adds.
//
// A weight is E2M1 * E4M3: at most 6 significant bits, exact as a float. Times an fp16 or bf16
// value it is exact in FP32 too, so the only rounding is that of the running sum, once per element
// of k, in k order: every tile shape and every body gives the same bits.
//
// Packed activations of a row group, per superblock: rows x 64 floats.
// V is a vector vocabulary (vec_*.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cpu/body.hpp"
#include "cpu/prefetch.hpp"
#include "nvfp4/half.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace thresher::cpu {
namespace {

// Weight scales come in units of 2^8 (vec_*.hpp).
inline constexpr float kFloatUnit = 256.0f;

inline std::size_t float_activation_bytes(int row_count, std::int64_t superblocks) {
  return static_cast<std::size_t>(row_count) * kSuperblockElements * sizeof(float) *
         static_cast<std::size_t>(superblocks);
}

inline void fp16_to_floats(const std::uint16_t* values, int count, float* out) {
  int i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(
        out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i))));
  }
#endif
  for (; i < count; ++i) out[i] = nvfp4::fp16_to_float(values[i]);
}

inline void bf16_to_floats(const std::uint16_t* values, int count, float* out) {
  for (int i = 0; i < count; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(values[i]) << 16;
    std::memcpy(out + i, &bits, sizeof bits);
  }
}

using WidenFunction = void (*)(const std::uint16_t* values, int count, float* out);

template <WidenFunction widen>
std::int64_t pack_float(const ActivationRows& rows, std::uint8_t* out) {
  float* floats = reinterpret_cast<float*>(out);
  for (std::int64_t first = 0; first < rows.k_elements; first += kSuperblockElements) {
    const std::int64_t left = rows.k_elements - first;
    const int count = left < kSuperblockElements ? static_cast<int>(left) : kSuperblockElements;
    for (int row = 0; row < rows.row_count; ++row) {
      widen(rows.values + row * rows.k_elements + first, count, floats);
      std::memset(floats + count, 0, static_cast<std::size_t>(kSuperblockElements - count) * 4);
      floats += kSuperblockElements;
    }
  }
  return kNoNan;
}

// Four consecutive k: the nibble at bit 4*kHigh of each byte of a column's dword.
template <class V, int kRows, int kVectors, int kHigh, int... kJ>
inline void add_quad(const typename V::Int* dwords, const typename V::Float* scales,
                     const float* activations, typename V::Float (*sums)[kVectors],
                     std::integer_sequence<int, kJ...>) {
  const auto add_k = [&]<int kIndex>(std::integral_constant<int, kIndex>) {
    typename V::Float weights[kVectors];
    for (int vector = 0; vector < kVectors; ++vector) {
      weights[vector] =
          V::mul(V::template values<8 * kIndex + 4 * kHigh>(dwords[vector]), scales[vector]);
    }
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const auto a = V::broadcast_float(activations + row * kSuperblockElements + kIndex);
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[row][vector] = V::fma(a, weights[vector], sums[row][vector]);
      }
    }
  };
  (add_k(std::integral_constant<int, kJ>{}), ...);
}

// The same for one row, the other way round: the row's value times each of the 16 codes is made
// once for all columns, and looked up instead of the weight. (a * code) * scale is the same real
// number as a * (code * scale), and both inner products are exact: the sum's bits are the same,
// and a multiplication per weight is saved.
template <class V, int kVectors, int kHigh, int... kJ>
inline void add_quad_of_row(const typename V::Int* dwords, const typename V::Float* scales,
                            const float* activations, typename V::Float* sums,
                            std::integer_sequence<int, kJ...>) {
  const auto add_k = [&]<int kIndex>(std::integral_constant<int, kIndex>) {
    const auto products = V::products(activations + kIndex);
    for (int vector = 0; vector < kVectors; ++vector) {
      const auto product = V::template look_up<8 * kIndex + 4 * kHigh>(dwords[vector], products);
      sums[vector] = V::fma(product, scales[vector], sums[vector]);
    }
  };
  (add_k(std::integral_constant<int, kJ>{}), ...);
}

// A sum waits for its own multiply-add before the next: tiles of few rows take several panels at
// once, so that there are enough sums to be busy with.
template <class V, int kRows, int kPanels>
struct FloatTile {
  static constexpr int kPerPanel = kPanelColumns / V::kLanes;
  static constexpr int kVectors = kPanels * kPerPanel;
  static constexpr bool kLooksUp = kRows == 1 && V::kHasProducts;

  static float* sums_at(const TileArgs& args, int row, int vector) {
    const int panel = vector / kPerPanel;
    return args.sums + (panel / kSumPanels * kRows + row) * kSumColumns +
           panel % kSumPanels * kPanelColumns + vector % kPerPanel * V::kLanes;
  }

  void load(const TileArgs& args) {
    for (int row = 0; row < kRows; ++row) {
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[row][vector] = args.add ? V::load(sums_at(args, row, vector)) : V::zero();
      }
    }
  }
  void store(const TileArgs& args) const {
    for (int row = 0; row < kRows; ++row) {
      for (int vector = 0; vector < kVectors; ++vector) {
        V::store(sums_at(args, row, vector), sums[row][vector]);
      }
    }
  }

  // 16 k of all columns.
  void add_block(const std::uint8_t* const* panels, int block, const float* activations) {
    typename V::Float scales[kVectors];
    for (int vector = 0; vector < kVectors; ++vector) {
      scales[vector] = V::scales(panels[vector / kPerPanel] + kSuperblockCodeBytes +
                                 block * kPanelColumns + vector % kPerPanel * V::kLanes);
      if constexpr (kLooksUp) scales[vector] = V::scales_of_products(scales[vector]);
    }
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      typename V::Int dwords[kVectors];
      for (int vector = 0; vector < kVectors; ++vector) {
        dwords[vector] = V::load_bytes(panels[vector / kPerPanel] + block * kBlockCodeBytes +
                                       half * 64 + vector % kPerPanel * V::kLanes * 4);
      }
      const float* a = activations + half * 8;
      const auto four = std::make_integer_sequence<int, 4>{};
      if constexpr (kLooksUp) {
        add_quad_of_row<V, kVectors, 0>(dwords, scales, a, sums[0], four);
        add_quad_of_row<V, kVectors, 1>(dwords, scales, a + 4, sums[0], four);
      } else {
        add_quad<V, kRows, kVectors, 0>(dwords, scales, a, sums, four);
        add_quad<V, kRows, kVectors, 1>(dwords, scales, a + 4, sums, four);
      }
    }
  }

  typename V::Float sums[kRows][kVectors];
};

template <class V, int kRows, int kPanels>
void float_tile(const TileArgs& args) {
  const std::uint8_t* panels[kPanels];
  for (int panel = 0; panel < kPanels; ++panel) panels[panel] = args.panels[panel];
  const float* activations = reinterpret_cast<const float*>(args.activations);
  FloatTile<V, kRows, kPanels> tile;
  tile.load(args);
  for (std::int64_t superblock = 0; superblock < args.superblock_count; ++superblock) {
    const Prefetch prefetch(args, superblock);
    for (int block = 0; block < kBlocksPerSuperblock; ++block) {
      for (int panel = 0; panel < kPanels && prefetch.wanted(); ++panel) {
        prefetch.block(panels[panel], block);
      }
      tile.add_block(panels, block, activations + block * kBlockElements);
    }
    for (int panel = 0; panel < kPanels; ++panel) panels[panel] += kSuperblockBytes;
    activations += kRows * kSuperblockElements;
  }
  tile.store(args);
}

}  // namespace
}  // namespace thresher::cpu
