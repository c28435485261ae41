// SPDX-License-Identifier: Apache-2.0
// AMX: decoded panels as bf16 tiles, up to 32 rows x 2 panels per tile call.
//
// E2M1 * E4M3 has at most 6 significant bits, so weights and NVFP4 activations are exact in bf16,
// and so is every product in FP32; the tile instruction rounds its running sums. fp16 activations
// do not fit into bf16 and are not supported here. Sums are added in k order, two at a time, by
// every tile shape.
//
// Packed activations, per 32 k: rows x 32 bf16. Decoded panels, per 32 k and panel: 16 rows (pairs
// of k) of 16 columns x 2 bf16, the layout of the instruction's second operand. Tiles: 0..3 sums
// (token tile * 2 + panel), 4..5 activations, 6..7 weights.
#include "cpu/vec_avx512.hpp"

#include <cstring>

#include "cpu/amx_tiles.hpp"
#include "cpu/body.hpp"
#include "cpu/finish.hpp"
#include "cpu/layer_rows.hpp"

namespace thresher::cpu {
namespace {

constexpr int kStepElements = 32;
constexpr int kStepsPerSuperblock = kSuperblockElements / kStepElements;
constexpr int kStepRowBytes = kStepElements * 2;
constexpr int kWeightTileBytes = 16 * 64;
constexpr int kTileRows = 16;
// Scales come in units of 2^8 (vec_avx512.hpp), once per scaled operand.
constexpr float kScaleUnit = 256.0f;

std::size_t activation_bytes(int row_count, std::int64_t superblocks) {
  return static_cast<std::size_t>(row_count) * kStepRowBytes * kStepsPerSuperblock *
         static_cast<std::size_t>(superblocks);
}

// 16 floats that are exact in bf16: their upper halves.
void store_bf16(std::uint16_t* out, __m512 values) {
  const __m512i bits = _mm512_srli_epi32(_mm512_castps_si512(values), 16);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(bits));
}

// 16 codes in checkpoint order (element 2i in the low nibble), one per dword.
__m512i spread_codes(const std::uint8_t* codes) {
  const __m128i raw = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
  return _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(raw, _mm_srli_epi16(raw, 4)));
}

// Where element `first` of row `row` stands in packed activations of `row_count` rows.
std::uint16_t* packed_element(std::uint8_t* out, int row_count, int row, std::int64_t first) {
  return reinterpret_cast<std::uint16_t*>(
      out + (first / kStepElements * row_count + row) * kStepRowBytes + first % kStepElements * 2);
}

std::int64_t pack_nvfp4(const ActivationRows& rows, std::uint8_t* out) {
  const std::int64_t block_count = rows.k_elements / kBlockElements;
  std::memset(out, 0, activation_bytes(rows.row_count, superblock_count(rows.k_elements)));
  for (int row = 0; row < rows.row_count; ++row) {
    const std::uint8_t* codes = rows.codes + row * block_count * 8;
    const std::uint8_t* scales = rows.scales + row * block_count;
    for (std::int64_t block = 0; block < block_count; ++block) {
      if ((scales[block] & 0x7f) == 0x7f) return row * block_count + block;
      alignas(16) std::uint8_t scale[16];
      std::memset(scale, scales[block], sizeof scale);
      const __m512 values = Avx512Base::mul(Avx512Base::values<0>(spread_codes(codes + block * 8)),
                                            Avx512Base::scales(scale));
      store_bf16(packed_element(out, rows.row_count, row, block * kBlockElements), values);
    }
  }
  return kNoNan;
}

std::int64_t pack_bf16(const ActivationRows& rows, std::uint8_t* out) {
  std::memset(out, 0, activation_bytes(rows.row_count, superblock_count(rows.k_elements)));
  for (int row = 0; row < rows.row_count; ++row) {
    for (std::int64_t first = 0; first < rows.k_elements; first += kBlockElements) {
      std::memcpy(packed_element(out, rows.row_count, row, first),
                  rows.values + row * rows.k_elements + first, kBlockElements * 2);
    }
  }
  return kNoNan;
}

std::size_t decoded_bytes(int panels, std::int64_t superblocks) {
  return static_cast<std::size_t>(panels) * kWeightTileBytes * kStepsPerSuperblock *
         static_cast<std::size_t>(superblocks);
}

// Two consecutive k of 16 columns as pairs of bf16; kShift is the even one's nibble.
template <int kShift>
__m512i weight_pair(__m512i dwords, __m512 scales) {
  const __m512 even = Avx512Base::mul(Avx512Base::values<kShift>(dwords), scales);
  const __m512 odd = Avx512Base::mul(Avx512Base::values<kShift + 8>(dwords), scales);
  return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(_mm512_castps_si512(even), 16),
                                 _mm512_castps_si512(odd));
}

void decode_block(const std::uint8_t* codes, const std::uint8_t* scale_bytes, std::uint8_t* out) {
  const __m512 scales = Avx512Base::scales(scale_bytes);
  for (int half = 0; half < 2; ++half, out += 4 * 64) {
    const __m512i dwords = Avx512Base::load_bytes(codes + 64 * half);
    Avx512Base::store_bytes(out, weight_pair<0>(dwords, scales));
    Avx512Base::store_bytes(out + 64, weight_pair<16>(dwords, scales));
    Avx512Base::store_bytes(out + 128, weight_pair<4>(dwords, scales));
    Avx512Base::store_bytes(out + 192, weight_pair<20>(dwords, scales));
  }
}

void decode(const std::uint8_t* const* panels, int panel_count, std::int64_t superblocks,
            std::uint8_t* out) {
  for (std::int64_t superblock = 0; superblock < superblocks; ++superblock) {
    for (int step = 0; step < kStepsPerSuperblock; ++step) {
      for (int panel = 0; panel < panel_count; ++panel, out += kWeightTileBytes) {
        const std::uint8_t* packed = panels[panel] + superblock * kSuperblockBytes;
        for (int block = 2 * step; block < 2 * step + 2; ++block) {
          decode_block(packed + block * kBlockCodeBytes,
                       packed + kSuperblockCodeBytes + block * kPanelColumns,
                       out + block % 2 * (kWeightTileBytes / 2));
        }
      }
    }
  }
}

// Tiles hold exactly the rows there are, so that a store never reaches the next token tile's sums.
TileConfig tile_config(int row_count) {
  TileConfig config;
  const int rows[2] = {row_count < kTileRows ? row_count : kTileRows,
                       row_count < kTileRows ? 0 : row_count - kTileRows};
  for (int tile = 0; tile < 8; ++tile) {
    const int token_tile = tile < 4 ? tile / 2 : tile - 4;
    const int count = tile >= 6 ? kTileRows : rows[token_tile];
    config.rows[tile] = static_cast<std::uint8_t>(count);
    config.row_bytes[tile] = count > 0 ? 64 : 0;
  }
  return config;
}

// The tile intrinsics take literal tile numbers, hence the branches on constants.
template <int kTokenTiles, int kPanels>
struct SumTiles {
  static constexpr bool kLow = kTokenTiles == 2;
  static constexpr bool kRight = kPanels == 2;
  static constexpr long kStride = kSumColumns * 4;

  static void zero() {
    _tile_zero(0);
    if constexpr (kRight) _tile_zero(1);
    if constexpr (kLow) _tile_zero(2);
    if constexpr (kLow && kRight) _tile_zero(3);
  }
  static void load(const float* sums) {
    _tile_loadd(0, sums, kStride);
    if constexpr (kRight) _tile_loadd(1, sums + kPanelColumns, kStride);
    if constexpr (kLow) _tile_loadd(2, sums + kTileRows * kSumColumns, kStride);
    if constexpr (kLow && kRight) {
      _tile_loadd(3, sums + kTileRows * kSumColumns + kPanelColumns, kStride);
    }
  }
  static void store(float* sums) {
    _tile_stored(0, sums, kStride);
    if constexpr (kRight) _tile_stored(1, sums + kPanelColumns, kStride);
    if constexpr (kLow) _tile_stored(2, sums + kTileRows * kSumColumns, kStride);
    if constexpr (kLow && kRight) {
      _tile_stored(3, sums + kTileRows * kSumColumns + kPanelColumns, kStride);
    }
  }
  static void multiply(const std::uint8_t* activations, const std::uint8_t* weights) {
    _tile_loadd(4, activations, kStepRowBytes);
    _tile_loadd(6, weights, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kRight) {
      _tile_loadd(7, weights + kWeightTileBytes, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kLow) {
      _tile_loadd(5, activations + kTileRows * kStepRowBytes, kStepRowBytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kLow && kRight) _tile_dpbf16ps(3, 5, 7);
  }
};

template <int kTokenTiles, int kPanels>
void amx_tile(const TileArgs& args) {
  using Sums = SumTiles<kTokenTiles, kPanels>;
  const TileConfig config = tile_config(args.row_count);
  load_config(config);
  if (args.add) {
    Sums::load(args.sums);
  } else {
    Sums::zero();
  }
  const std::uint8_t* activations = args.activations;
  const std::uint8_t* weights = args.panels[0];
  for (std::int64_t step = 0; step < args.superblock_count * kStepsPerSuperblock; ++step) {
    Sums::multiply(activations, weights);
    activations += args.row_count * kStepRowBytes;
    weights += kPanels * kWeightTileBytes;
  }
  Sums::store(args.sums);
  _tile_release();
}

TileFunction find_tile(int rows, int panels) {
  if (rows > 2 * kTileRows || panels > kSumPanels) return nullptr;
  if (rows <= kTileRows) return panels == 1 ? amx_tile<1, 1> : amx_tile<1, 2>;
  return panels == 1 ? amx_tile<2, 1> : amx_tile<2, 2>;
}

Kernels amx_kernels(std::int64_t (*pack)(const ActivationRows&, std::uint8_t*), float unit) {
  return {.tile_rows_max = 2 * kTileRows,
          .tile_panels_max = kSumPanels,
          .activation_bytes = activation_bytes,
          .pack = pack,
          .decoded_tile = find_tile,
          .decoded_bytes = decoded_bytes,
          .decode = decode,
          .unit = unit};
}

}  // namespace

const Body& amx_body() {
  static const Body body = [] {
    Body made;
    made.isa = Isa::kAmx;
    made.nvfp4 = amx_kernels(pack_nvfp4, kScaleUnit * kScaleUnit);
    made.bf16 = amx_kernels(pack_bf16, kScaleUnit);
    set_finish_functions(made);
    set_layer_functions(made.layer);
    return made;
  }();
  return body;
}

}  // namespace thresher::cpu
