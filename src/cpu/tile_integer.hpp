// SPDX-License-Identifier: Apache-2.0
// The exact W4A4 tile: integer block dots, one FP32 multiply-add per block and output.
//
// With w = 2*E2M1 of the weight and a = 2*E2M1 of the activation, a block of 16 contributes
//   sum(w*a) * scale_a * scale_b.   sum(w*a) is an integer of at most 12 bits.
// - Byte multiply-adds want an unsigned operand, so weights carry +12, undone by starting the sum
// from
//   the activation's correction word, -12*sum(a).
// - scale_a is (8 + m) * 2^e: up to 2^3 of it is in the activation bytes, the rest (at most
// 15*2^11)
//   multiplies the sum in the widening step that pair sums need anyway. The result is an exact
//   int32 with at most 16 significant bits, so its conversion to float is exact too.
// - scale_b has 4 significant bits: the product inside the FMA is exact, and the FMA's rounding of
// the
//   running sum is the only rounding of the whole GEMM. Blocks are added in k order by every tile
//   shape, chunk length and thread, so all of them, in every integer body, give the same bits.
//
// Packed activations of a row group, per block of 16: rows x 16 code bytes, rows scale words, rows
// correction words (4 bytes each), so that one pointer walks the group linearly.
// V is a vector vocabulary (vec_*.hpp). Pair sums keep two int16 per column, quad sums one int32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/body.hpp"
#include "cpu/prefetch.hpp"
#include "hide.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace thresher::cpu {
namespace {

inline constexpr int kPackedRowBlockBytes = 16 + 4 + 4;
// a and w are doubled, scale_a is in units of 2^-9, scale_b in units of 2^8: sums are 2^3 times the
// truth.
inline constexpr float kIntegerUnit = 0.125f;

inline std::size_t integer_activation_bytes(int row_count, std::int64_t superblocks) {
  return static_cast<std::size_t>(row_count) * kPackedRowBlockBytes * kBlocksPerSuperblock *
         static_cast<std::size_t>(superblocks);
}

// The activation scale as an integer in units of 2^-9, split into a shift for the codes and a
// factor.
struct SplitScale {
  int shift;   // 0..3
  int factor;  // |factor| <= 15 * 2^11
};

constexpr SplitScale split_scale(std::uint8_t e4m3) {
  const int exponent = e4m3 >> 3 & 15;
  const int mantissa = exponent == 0 ? e4m3 & 7 : 8 + (e4m3 & 7);
  const int power = exponent == 0 ? 0 : exponent - 1;
  const int shift = power < 3 ? power : 3;
  const int factor = mantissa << (power - shift);
  return {shift, (e4m3 & 0x80) != 0 ? -factor : factor};
}

// The scale and correction words of one block, in the form V's arithmetic wants.
template <bool kPairSums>
struct BlockWords {
  static std::int32_t scale(int factor) {
    const std::uint32_t low = static_cast<std::uint16_t>(factor);
    return static_cast<std::int32_t>(kPairSums ? low | low << 16 : low);
  }
  // Pair sums: int16 lanes for k % 4 in {0, 1} and {2, 3}. Quad sums: one int32.
  static std::int32_t correction(int sum_01, int sum_23) {
    if (!kPairSums) return -12 * (sum_01 + sum_23);
    const std::uint32_t low = static_cast<std::uint16_t>(-12 * sum_01);
    const std::uint32_t high = static_cast<std::uint16_t>(-12 * sum_23);
    return static_cast<std::int32_t>(low | high << 16);
  }
};

inline void store_word(std::uint8_t* p, std::int32_t word) { std::memcpy(p, &word, sizeof word); }

// One block of one row: 16 doubled, shifted codes to `out`, and their sums for the correction.
struct BlockSums {
  int sum_01;
  int sum_23;
};

constexpr std::int8_t kDoubledE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline BlockSums expand_codes(const std::uint8_t* codes, int shift, std::uint8_t* out) {
  BlockSums sums{0, 0};
  for (int k = 0; k < 16; ++k) {
    const int value = kDoubledE2m1[codes[k / 2] >> (k % 2 * 4) & 15] * (1 << shift);
    out[k] = static_cast<std::uint8_t>(value);
    (k % 4 < 2 ? sums.sum_01 : sums.sum_23) += value;
  }
  return sums;
}

#if defined(__AVX2__)
// The same with a byte shuffle per block: activations are packed on every call.
inline BlockSums expand_codes_avx2(const std::uint8_t* codes, int shift, std::uint8_t* out) {
  const __m128i raw = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
  const __m128i mask = _mm_set1_epi8(0x0f);
  const __m128i nibbles =
      _mm_unpacklo_epi8(_mm_and_si128(raw, mask), _mm_and_si128(_mm_srli_epi16(raw, 4), mask));
  const __m128i doubled = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  // Bytes shifted as words: |value| << 3 stays below 128, so taking the byte mask of the shifted
  // table keeps neighbours apart.
  const __m128i byte_mask = _mm_set1_epi8(static_cast<char>(0xff << shift));
  const __m128i table = _mm_and_si128(_mm_sll_epi16(doubled, _mm_cvtsi32_si128(shift)), byte_mask);
  const __m128i values = _mm_shuffle_epi8(table, nibbles);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), values);
  // int16 lanes alternate between k % 4 in {0, 1} and {2, 3}.
  __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi8(1), values);
  pairs = _mm_add_epi16(pairs, _mm_unpackhi_epi64(pairs, pairs));
  pairs = _mm_add_epi16(pairs, _mm_shuffle_epi32(pairs, 1));
  const int both = _mm_cvtsi128_si32(pairs);
  return {static_cast<std::int16_t>(both & 0xffff), static_cast<std::int16_t>(both >> 16)};
}
#endif

template <class V>
std::int64_t pack_integer(const ActivationRows& rows, std::uint8_t* out) {
  using Words = BlockWords<V::kPairSums>;
  const std::int64_t block_count = rows.k_elements / kBlockElements;
  const std::int64_t padded_count = superblock_count(rows.k_elements) * kBlocksPerSuperblock;
  const int row_count = rows.row_count;
  const std::int64_t stride = std::int64_t{row_count} * kPackedRowBlockBytes;
  for (int row = 0; row < row_count; ++row) {
    const std::uint8_t* codes = rows.codes + row * block_count * 8;
    const std::uint8_t* scales = rows.scales + row * block_count;
    for (std::int64_t block = 0; block < block_count; ++block) {
      if ((scales[block] & 0x7f) == 0x7f) return row * block_count + block;
      const SplitScale split = split_scale(scales[block]);
      std::uint8_t* base = out + block * stride;
#if defined(__AVX2__)
      const BlockSums sums = expand_codes_avx2(codes + block * 8, split.shift, base + row * 16);
#else
      const BlockSums sums = expand_codes(codes + block * 8, split.shift, base + row * 16);
#endif
      std::uint8_t* words = base + row_count * 16 + row * 4;
      store_word(words, Words::scale(split.factor));
      store_word(words + row_count * 4, Words::correction(sums.sum_01, sums.sum_23));
    }
  }
  std::memset(out + block_count * stride, 0,
              static_cast<std::size_t>((padded_count - block_count) * stride));
  return kNoNan;
}

// Decoded panels: per block, for each panel 4 x 64 bytes of codes (+12), then for each panel 16
// floats.
inline constexpr int kDecodedCodeBytes = 4 * kPanelColumns * 4;
inline constexpr int kDecodedPanelBlockBytes = kDecodedCodeBytes + kPanelColumns * 4;

inline std::size_t integer_decoded_bytes(int panels, std::int64_t superblocks) {
  return static_cast<std::size_t>(panels) * kDecodedPanelBlockBytes * kBlocksPerSuperblock *
         static_cast<std::size_t>(superblocks);
}

// The four quads (16 k) of one vector of columns from the packed bytes of a block.
template <class V>
inline void decode_quads(const std::uint8_t* block_codes, int vector, typename V::Int* quads) {
  for (int half = 0; half < 2; ++half) {
    const auto raw = V::load_bytes(block_codes + 64 * half + vector * V::kLanes * 4);
    quads[2 * half] = V::low_codes(raw);
    quads[2 * half + 1] = V::high_codes(raw);
  }
}

template <class V>
void decode_integer(const std::uint8_t* const* panels, int panel_count, std::int64_t superblocks,
                    std::uint8_t* out) {
  constexpr int kVectors = kPanelColumns / V::kLanes;
  for (std::int64_t superblock = 0; superblock < superblocks; ++superblock) {
    for (int block = 0; block < kBlocksPerSuperblock; ++block) {
      for (int panel = 0; panel < panel_count; ++panel) {
        const std::uint8_t* packed = panels[panel] + superblock * kSuperblockBytes;
        for (int vector = 0; vector < kVectors; ++vector) {
          typename V::Int quads[4];
          decode_quads<V>(packed + block * kBlockCodeBytes, vector, quads);
          for (int quad = 0; quad < 4; ++quad) {
            V::store_bytes(out + panel * kDecodedCodeBytes + (vector * 4 + quad) * V::kLanes * 4,
                           quads[quad]);
          }
          const std::uint8_t* scales = packed + kSuperblockCodeBytes + block * kPanelColumns;
          float* floats = reinterpret_cast<float*>(out + panel_count * kDecodedCodeBytes) +
                          panel * kPanelColumns + vector * V::kLanes;
          V::store(floats, V::scales(scales + vector * V::kLanes));
        }
      }
      out += panel_count * kDecodedPanelBlockBytes;
    }
  }
}

// Weights of one block for all column vectors of a tile.
template <class V, int kVectors>
struct BlockWeights {
  typename V::Int quads[kVectors][4];
  typename V::Float scales[kVectors];
};

template <class V, int kPanels>
inline void load_packed(const std::uint8_t* const* panels, int block,
                        BlockWeights<V, kPanels * kPanelColumns / V::kLanes>& weights) {
  constexpr int kPerPanel = kPanelColumns / V::kLanes;
  for (int panel = 0; panel < kPanels; ++panel) {
    const std::uint8_t* scales = panels[panel] + kSuperblockCodeBytes + block * kPanelColumns;
    for (int vector = 0; vector < kPerPanel; ++vector) {
      const int index = panel * kPerPanel + vector;
      decode_quads<V>(panels[panel] + block * kBlockCodeBytes, vector, weights.quads[index]);
      weights.scales[index] = V::scales(scales + vector * V::kLanes);
    }
  }
}

template <class V, int kPanels>
inline void load_decoded(const std::uint8_t* decoded,
                         BlockWeights<V, kPanels * kPanelColumns / V::kLanes>& weights) {
  constexpr int kVectors = kPanels * kPanelColumns / V::kLanes;
  const float* scales = reinterpret_cast<const float*>(decoded + kPanels * kDecodedCodeBytes);
  for (int vector = 0; vector < kVectors; ++vector) {
    for (int quad = 0; quad < 4; ++quad) {
      weights.quads[vector][quad] = V::load_bytes(decoded + (vector * 4 + quad) * V::kLanes * 4);
      // Without this the compiler reloads weights for every row instead of keeping them.
      hide(weights.quads[vector][quad]);
    }
    weights.scales[vector] = V::load(scales + vector * V::kLanes);
  }
}

// One block of one row against every column vector: the 7 (quad sums) or 11 (pair sums) operations.
template <class V, int kRows, int kVectors>
inline void add_block(const BlockWeights<V, kVectors>& weights, const std::uint8_t* activations,
                      int row, typename V::Float* sums) {
  const std::uint8_t* codes = activations + row * 16;
  const std::uint8_t* words = activations + kRows * 16 + row * 4;
  const auto scale = V::broadcast(words);
  typename V::Int quads[4];
  for (int quad = 0; quad < 4; ++quad) quads[quad] = V::broadcast(codes + quad * 4);
  for (int vector = 0; vector < kVectors; ++vector) {
    auto dot = V::broadcast(words + kRows * 4);
    for (int quad = 0; quad < 4; ++quad) {
      dot = V::dot(dot, weights.quads[vector][quad], quads[quad]);
    }
    sums[vector] =
        V::fma(V::to_float(V::multiply_pairs(dot, scale)), weights.scales[vector], sums[vector]);
  }
}

template <class V, int kRows, int kPanels, bool kDecoded>
void integer_tile(const TileArgs& args) {
  constexpr int kVectors = kPanels * kPanelColumns / V::kLanes;
  const std::uint8_t* panels[kPanels];
  for (int panel = 0; panel < kPanels; ++panel) panels[panel] = args.panels[panel];
  const std::uint8_t* activations = args.activations;

  typename V::Float sums[kRows][kVectors];
  for (int row = 0; row < kRows; ++row) {
    for (int vector = 0; vector < kVectors; ++vector) {
      sums[row][vector] =
          args.add ? V::load(args.sums + row * kSumColumns + vector * V::kLanes) : V::zero();
    }
  }
  for (std::int64_t superblock = 0; superblock < args.superblock_count; ++superblock) {
    const Prefetch prefetch(args, superblock);
    for (int block = 0; block < kBlocksPerSuperblock; ++block) {
      BlockWeights<V, kVectors> weights;
      if constexpr (kDecoded) {
        load_decoded<V, kPanels>(panels[0], weights);
        panels[0] += kPanels * kDecodedPanelBlockBytes;
      } else {
        for (int panel = 0; panel < kPanels && prefetch.wanted(); ++panel) {
          prefetch.block(panels[panel], block);
        }
        load_packed<V, kPanels>(panels, block, weights);
      }
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        add_block<V, kRows, kVectors>(weights, activations, row, sums[row]);
      }
      activations += kRows * kPackedRowBlockBytes;
    }
    if constexpr (!kDecoded) {
      for (int panel = 0; panel < kPanels; ++panel) panels[panel] += kSuperblockBytes;
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int vector = 0; vector < kVectors; ++vector) {
      V::store(args.sums + row * kSumColumns + vector * V::kLanes, sums[row][vector]);
    }
  }
}

}  // namespace
}  // namespace thresher::cpu
