// SPDX-License-Identifier: Apache-2.0
// The body for machines without AVX2: the 16 columns of a panel as one portable vector, which the
// compiler maps to whatever it targets.
//
// It computes in floats what the integer tiles compute in integers: a block sum is an integer of at
// most 12 bits, times the activation's scale at most 16, times the weight's scale at most 20, all
// exact. So the running sum is rounded at the same places and the bits are those of every other
// vector body.
//
// Packed activations of a row group: per block of 16, for each row 16 floats and one factor.
#include <array>
#include <cstring>

#include "cpu/body.hpp"
#include "cpu/columns.hpp"
#include "cpu/finish.hpp"
#include "cpu/layer_rows.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher::cpu {
namespace {

// Sums live in L1 whatever their number, and decoding a block pays off over many rows.
constexpr int kRowsMax = kTileRowsMax;
constexpr int kRowBlockFloats = kBlockElements + 1;

template <int kCount, float (*decode)(std::uint8_t)>
constexpr std::array<float, kCount> decode_table() {
  std::array<float, kCount> table{};
  for (int code = 0; code < kCount; ++code) {
    table[static_cast<std::size_t>(code)] = decode(static_cast<std::uint8_t>(code));
  }
  return table;
}

constexpr std::array<float, 16> kE2m1 = decode_table<16, nvfp4::decode_e2m1>();
constexpr std::array<float, 256> kE4m3 = decode_table<256, nvfp4::decode_e4m3>();

std::size_t activation_bytes(int row_count, std::int64_t superblocks) {
  return static_cast<std::size_t>(row_count) * kRowBlockFloats * sizeof(float) *
         kBlocksPerSuperblock * static_cast<std::size_t>(superblocks);
}

float* packed_row(std::uint8_t* out, int row_count, int row, std::int64_t block) {
  return reinterpret_cast<float*>(out) + (block * row_count + row) * kRowBlockFloats;
}

std::int64_t pack_nvfp4(const ActivationRows& rows, std::uint8_t* out) {
  const std::int64_t block_count = rows.k_elements / kBlockElements;
  std::memset(out, 0, activation_bytes(rows.row_count, superblock_count(rows.k_elements)));
  for (int row = 0; row < rows.row_count; ++row) {
    for (std::int64_t block = 0; block < block_count; ++block) {
      const std::int64_t index = row * block_count + block;
      if (nvfp4::is_nan_e4m3(rows.scales[index])) return index;
      float* packed = packed_row(out, rows.row_count, row, block);
      for (int k = 0; k < kBlockElements; ++k) {
        const unsigned pair = rows.codes[index * 8 + k / 2];
        packed[k] = kE2m1[pair >> (k % 2 * 4) & 15u];
      }
      packed[kBlockElements] = kE4m3[rows.scales[index]];
    }
  }
  return kNoNan;
}

template <float (*widen)(std::uint16_t)>
std::int64_t pack_16_bit(const ActivationRows& rows, std::uint8_t* out) {
  std::memset(out, 0, activation_bytes(rows.row_count, superblock_count(rows.k_elements)));
  for (int row = 0; row < rows.row_count; ++row) {
    for (std::int64_t k = 0; k < rows.k_elements; ++k) {
      packed_row(out, rows.row_count, row, k / kBlockElements)[k % kBlockElements] =
          widen(rows.values[row * rows.k_elements + k]);
    }
  }
  return kNoNan;
}

struct BlockValues {
  Columns values[kBlockElements];
  Columns scales;
};

void decode_block(const std::uint8_t* superblock, int block, BlockValues& decoded) {
  const std::uint8_t* scales = superblock + kSuperblockCodeBytes + block * kPanelColumns;
  for (int column = 0; column < kPanelColumns; ++column) {
    decoded.scales[column] = kE4m3[scales[column]];
  }
  const std::uint8_t* codes = superblock + block * kBlockCodeBytes;
  for (int half = 0; half < 2; ++half) {
    for (int column = 0; column < kPanelColumns; ++column) {
      for (int j = 0; j < 4; ++j) {
        const std::uint8_t byte = codes[64 * half + 4 * column + j];
        decoded.values[8 * half + j][column] = kE2m1[byte & 15];
        decoded.values[8 * half + 4 + j][column] = kE2m1[byte >> 4];
      }
    }
  }
}

// NVFP4 activations: one exact sum per block, then the scales, as the integer tiles do.
void add_scaled_block(const BlockValues& weights, const float* activations, Columns& sums) {
  Columns dots = {};
  for (int k = 0; k < kBlockElements; ++k) dots += activations[k] * weights.values[k];
  sums += dots * activations[kBlockElements] * weights.scales;
}

// 16-bit activations: one rounding per k, as in tile_float.hpp.
void add_plain_block(const BlockValues& weights, const float* activations, Columns& sums) {
  for (int k = 0; k < kBlockElements; ++k) {
    sums += activations[k] * (weights.values[k] * weights.scales);
  }
}

using AddBlock = void (*)(const BlockValues& weights, const float* activations, Columns& sums);

template <AddBlock add_block>
void tile(const TileArgs& args) {
  for (int row = 0; row < args.row_count && !args.add; ++row) {
    std::memset(args.sums + row * kSumColumns, 0, kPanelColumns * sizeof(float));
  }
  const float* activations = reinterpret_cast<const float*>(args.activations);
  for (std::int64_t block = 0; block < args.superblock_count * kBlocksPerSuperblock; ++block) {
    BlockValues weights;
    decode_block(args.panels[0] + block / kBlocksPerSuperblock * kSuperblockBytes,
                 static_cast<int>(block % kBlocksPerSuperblock), weights);
    for (int row = 0; row < args.row_count; ++row) {
      Columns sums;
      std::memcpy(&sums, args.sums + row * kSumColumns, sizeof sums);
      add_block(weights, activations, sums);
      std::memcpy(args.sums + row * kSumColumns, &sums, sizeof sums);
      activations += kRowBlockFloats;
    }
  }
}

template <AddBlock add_block>
TileFunction find_tile(int rows, int panels) {
  return rows <= kRowsMax && panels == 1 ? tile<add_block> : nullptr;
}

using Pack = std::int64_t (*)(const ActivationRows&, std::uint8_t*);

template <Pack pack, AddBlock add_block>
Kernels kernels() {
  return {.tile_rows_max = kRowsMax,
          .tile_panels_max = 1,
          .activation_bytes = activation_bytes,
          .pack = pack,
          .direct_tile = find_tile<add_block>};
}

}  // namespace

const Body& portable_body() {
  static const Body body = [] {
    Body made;
    made.isa = Isa::kPortable;
    made.nvfp4 = kernels<pack_nvfp4, add_scaled_block>();
    made.fp16 = kernels<pack_16_bit<nvfp4::fp16_to_float>, add_plain_block>();
    made.bf16 = kernels<pack_16_bit<nvfp4::bf16_to_float>, add_plain_block>();
    set_finish_functions(made);
    set_layer_functions(made.layer);
    return made;
  }();
  return body;
}

}  // namespace thresher::cpu
