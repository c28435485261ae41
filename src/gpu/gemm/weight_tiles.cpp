// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/weight_tiles.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "assert.hpp"
#include "gpu/gemm/kernels/weight_layout.hpp"
#include "gpu/gemm/plan_extents.hpp"
#include "gpu/gemm/weight_words.hpp"

namespace thresher::gpu {
namespace {

constexpr int kThreads = 128;
constexpr int kRegisters = 4;
constexpr std::uint8_t kBothSigns = 0x88;
constexpr int kStepCodeBytes = kStepK / 2;  // of a row

// The packed byte of a scale's magnitude: times 2^7 it has an exponent 15 above its own in fp16,
// and a subnormal is shifted until it has the leading bit that fp16 leaves out.
constexpr std::array<std::uint8_t, 128> make_scale_bytes() {
  std::array<std::uint8_t, 128> bytes{};
  for (std::uint32_t code = 1; code < 8; ++code) {
    std::uint32_t exponent = 1 + 15;
    std::uint32_t mantissa = code;
    for (; mantissa < 8; mantissa *= 2) --exponent;
    bytes[code] = static_cast<std::uint8_t>(exponent << 3 | (mantissa & 7));
  }
  for (std::uint32_t code = 8; code < 128; ++code) {
    bytes[code] = static_cast<std::uint8_t>(code + (15 << 3));
  }
  return bytes;
}

constexpr std::array<std::uint8_t, 256> make_scale_codes() {
  std::array<std::uint8_t, 256> codes{};
  for (std::size_t code = 0; code < 128; ++code) {
    codes[make_scale_bytes()[code]] = static_cast<std::uint8_t>(code);
  }
  return codes;
}

constexpr std::array<std::uint8_t, 128> kScaleBytes = make_scale_bytes();
constexpr std::array<std::uint8_t, 256> kScaleCodes = make_scale_codes();

// Byte of a tile where a row's scales begin, and how far from there a step's is.
int scale_offset(int row) {
  const int sub_tile = row / kSubTileRows;
  const int slot = row % kSubTileRows / 16 * 8 + row % 8;
  const int half = row % 16 / 8;
  return kTileCodeBytes + sub_tile * kSubTileScaleBytes + slot * 8 + half * 2;
}
constexpr int step_offset(int step) { return step / 2 * 4 + (step % 2 == 0 ? 1 : 0); }

std::uint8_t scale_of(const std::uint8_t* tile, const std::uint8_t* signs, int row, int step) {
  const int bit = row * kStepsPerTile + step;
  const int sign = signs[bit / 8] >> bit % 8 & 1;
  return static_cast<std::uint8_t>(kScaleCodes[tile[scale_offset(row) + step_offset(step)]] |
                                   sign << 7);
}

// Whose row a packed row is.
struct SourceRow {
  int matrix_index = 0;  // 1: the up matrix
  std::int64_t row = 0;
};

SourceRow source_of(Op op, std::int64_t packed_row) {
  if (op == Op::kGemm) return {0, packed_row};
  const std::int64_t in_pair = packed_row % (2 * kDualRows);
  return {in_pair < kDualRows ? 0 : 1,
          packed_row / (2 * kDualRows) * kDualRows + in_pair % kDualRows};
}

// The places of a thread's fragment: register i of step b holds two values from (row(i), k(b, i)).
struct FragmentPlace {
  std::int64_t first_row = 0;  // packed
  std::int64_t first_k = 0;

  FragmentPlace(std::int64_t row_tile, std::int64_t k_tile, int sub_tile, int thread)
      : first_row(row_tile * kTileRows + sub_tile * kSubTileRows + thread / 32 * 16 +
                  thread % 32 / 4),
        first_k(k_tile * kTileK + thread % 4 * 2) {}

  std::int64_t row(int i) const { return first_row + i % 2 * 8; }
  std::int64_t k(int step, int i) const { return first_k + step * kStepK + i / 2 * 8; }
};

std::size_t code_offset(int sub_tile, int thread, int step) {
  return static_cast<std::size_t>(sub_tile * kSubTileCodeBytes + thread * 16 + step * 4);
}

// The rows of one tile as the matrices have them, but for signs flipped under a negative scale.
struct TileRows {
  std::uint8_t codes[kTileRows][kRowCodeBytes];
  std::uint8_t scales[kTileRows][kStepsPerTile];
};

bool any_negative(const std::uint8_t* scales) {
  std::uint32_t all;
  static_assert(sizeof all == kStepsPerTile);
  std::memcpy(&all, scales, sizeof all);
  return (all & 0x80808080u) != 0;
}

void flip_signs(const std::uint8_t* scales, std::uint8_t* codes) {
  for (int step = 0; step < kStepsPerTile; ++step) {
    if ((scales[step] & 0x80) == 0) continue;
    for (int i = 0; i < kStepCodeBytes; ++i) codes[step * kStepCodeBytes + i] ^= kBothSigns;
  }
}

// Reads the matrices by packed row; zeros beyond their edges.
class Source {
 public:
  Source(Op op, std::array<const Nvfp4View*, 2> matrices) : op_(op), matrices_(matrices) {}

  TileRows read(std::int64_t row_tile, std::int64_t k_tile) const {
    TileRows tile{};
    for (int row = 0; row < kTileRows; ++row) {
      read_row(row_tile * kTileRows + row, k_tile * kTileK, tile.codes[row], tile.scales[row]);
    }
    return tile;
  }

 private:
  void read_row(std::int64_t packed_row, std::int64_t k, std::uint8_t* codes,
                std::uint8_t* scales) const {
    const auto [matrix_index, row] = source_of(op_, packed_row);
    const Nvfp4View& matrix = *matrices_[matrix_index];
    if (row >= matrix.rows) return;
    const std::int64_t first = row * matrix.k_elements + k;
    const auto step_count = static_cast<std::size_t>(
        std::min<std::int64_t>(kStepsPerTile, (matrix.k_elements - k) / kStepK));
    const auto copy = [&](std::size_t steps) {
      std::memcpy(scales, matrix.scales + first / kBlockElements, steps);
      std::memcpy(codes, matrix.codes + first / 2, steps * kStepCodeBytes);
    };
    // A number that the compiler knows makes moves of copies.
    if (step_count == kStepsPerTile) {
      copy(kStepsPerTile);
    } else {
      copy(step_count);
    }
    if (any_negative(scales)) flip_signs(scales, codes);
  }

  Op op_;
  std::array<const Nvfp4View*, 2> matrices_;
};

template <hw::Operand kOperand>
void pack_codes(const TileRows& rows, std::uint8_t* tile) {
  for (int row = 0; row < kTileRows; ++row) {
    if (row % 16 >= 8) continue;
    const int thread = row % kSubTileRows / 16 * 32 + row % 8 * 4;
    pack_row_pair<kOperand>(rows.codes[row], rows.codes[row + 8],
                            tile + code_offset(row / kSubTileRows, thread, 0));
  }
}

void pack_scales(const TileRows& rows, std::uint8_t* tile) {
  for (int row = 0; row < kTileRows; ++row) {
    std::uint8_t* first = tile + scale_offset(row);
    for (int step = 0; step < kStepsPerTile; ++step) {
      first[step_offset(step)] = kScaleBytes[rows.scales[row][step] & 0x7f];
    }
  }
}

// Eight scales' signs at a time: the product moves those of its bytes to its top, in their order.
void pack_signs(const TileRows& rows, std::uint8_t* signs) {
  const std::uint8_t* scales = rows.scales[0];
  for (int byte = 0; byte < kTileSignBytes; ++byte) {
    std::uint64_t eight;
    std::memcpy(&eight, scales + byte * sizeof eight, sizeof eight);
    const std::uint64_t ones = eight >> 7 & 0x0101010101010101u;
    signs[byte] = static_cast<std::uint8_t>(ones * 0x0102040810204080u >> 56);
  }
}

// Of one tile: its place, and where its bytes and its signs begin.
struct TilePlace {
  std::int64_t row_tile = 0;
  std::int64_t k_tile = 0;
  std::size_t offset = 0;
  std::size_t sign_offset = 0;
};

std::int64_t tile_count_of(const WeightTiles& tiles) {
  return tiles.row_tile_count() * tiles.k_tile_count();
}

// Of tiles `begin` to `end`, numbered along k, then by rows.
template <class Visit>
void for_each_tile(const WeightTiles& tiles, std::int64_t begin, std::int64_t end,
                   const Visit& visit) {
  const std::int64_t tile_count = tile_count_of(tiles);
  for (std::int64_t index = begin; index < end; ++index) {
    visit(TilePlace{
        .row_tile = index / tiles.k_tile_count(),
        .k_tile = index % tiles.k_tile_count(),
        .offset = static_cast<std::size_t>(index * kTileBytes),
        .sign_offset = static_cast<std::size_t>(tile_count * kTileBytes + index * kTileSignBytes)});
  }
}

void pack_tiles(const WeightTiles& tiles, std::int64_t begin, std::int64_t end,
                const Source& source, std::span<std::uint8_t> out) {
  const auto pack_all_codes = tiles.operand == hw::Operand::kBf16 ? pack_codes<hw::Operand::kBf16>
                                                                  : pack_codes<hw::Operand::kFp16>;
  for_each_tile(tiles, begin, end, [&](const TilePlace& place) {
    std::uint8_t* tile = out.data() + place.offset;
    const TileRows rows = source.read(place.row_tile, place.k_tile);
    pack_all_codes(rows, tile);
    pack_scales(rows, tile);
    pack_signs(rows, out.data() + place.sign_offset);
  });
}

// On as many threads as there are cores, and no more than have work for a while.
void pack(const WeightTiles& tiles, const Source& source, std::span<std::uint8_t> out) {
  constexpr std::int64_t kTilesPerThreadMin = 64;
  THRESHER_ASSERT(out.size() == tiles.bytes());
  const std::int64_t tile_count = tile_count_of(tiles);
  const std::int64_t thread_count = std::clamp<std::int64_t>(
      tile_count / kTilesPerThreadMin, 1, std::max(std::thread::hardware_concurrency(), 1u));
  const auto pack_share = [&](std::int64_t share) {
    pack_tiles(tiles, tile_count * share / thread_count, tile_count * (share + 1) / thread_count,
               source, out);
  };
  std::vector<std::jthread> others;
  for (std::int64_t share = 1; share < thread_count; ++share) {
    others.emplace_back(pack_share, share);
  }
  pack_share(0);
  others.clear();
}

// Collects one matrix of the packed ones.
class Sink {
 public:
  Sink(const WeightTiles& tiles, int matrix_index) : op_(tiles.op), matrix_index_(matrix_index) {
    matrix_.rows = tiles.n;
    matrix_.k_elements = tiles.k_elements;
    const auto elements = static_cast<std::size_t>(tiles.n * tiles.k_elements);
    matrix_.codes.resize(elements / 2);
    matrix_.scales.resize(elements / kBlockElements);
  }

  void take_scale(std::int64_t packed_row, std::int64_t k, std::uint8_t scale) {
    if (const std::int64_t index = element_index(packed_row, k); index >= 0) {
      matrix_.scales[index / kBlockElements] = scale;
    }
  }

  // Scales must have been taken before: they say whether the signs were flipped.
  void take_codes(std::int64_t packed_row, std::int64_t k, std::uint8_t both) {
    const std::int64_t index = element_index(packed_row, k);
    if (index < 0) return;
    const bool flipped = (matrix_.scales[index / kBlockElements] & 0x80) != 0;
    matrix_.codes[index / 2] = flipped ? both ^ kBothSigns : both;
  }

  Nvfp4Matrix take() { return std::move(matrix_); }

 private:
  std::int64_t element_index(std::int64_t packed_row, std::int64_t k) const {
    const SourceRow source = source_of(op_, packed_row);
    const bool ours = source.matrix_index == matrix_index_ && source.row < matrix_.rows;
    return ours && k < matrix_.k_elements ? source.row * matrix_.k_elements + k : -1;
  }

  Op op_;
  int matrix_index_;
  Nvfp4Matrix matrix_;
};

void unpack_codes(const std::uint8_t* tile, const TilePlace& at, int sub_tile, const CodeBits& bits,
                  Sink& sink) {
  for (int thread = 0; thread < kThreads; ++thread) {
    const FragmentPlace place(at.row_tile, at.k_tile, sub_tile, thread);
    for (int step = 0; step < kStepsPerTile; ++step) {
      std::uint32_t word;
      std::memcpy(&word, tile + code_offset(sub_tile, thread, step), sizeof word);
      for (int i = 0; i < kRegisters; ++i) {
        sink.take_codes(place.row(i), place.k(step, i), byte_of_word(bits, word, i));
      }
    }
  }
}

Nvfp4Matrix unpack(const WeightTiles& tiles, std::span<const std::uint8_t> packed,
                   int matrix_index) {
  THRESHER_ASSERT(packed.size() == tiles.bytes());
  Sink sink(tiles, matrix_index);
  const CodeBits bits = code_bits(tiles.operand);
  for_each_tile(tiles, 0, tile_count_of(tiles), [&](const TilePlace& place) {
    const std::uint8_t* tile = packed.data() + place.offset;
    const std::uint8_t* signs = packed.data() + place.sign_offset;
    for (int row = 0; row < kTileRows; ++row) {
      for (int step = 0; step < kStepsPerTile; ++step) {
        sink.take_scale(place.row_tile * kTileRows + row, place.k_tile * kTileK + step * kStepK,
                        scale_of(tile, signs, row, step));
      }
    }
    for (int sub_tile = 0; sub_tile < kSubTilesPerTile; ++sub_tile) {
      unpack_codes(tile, place, sub_tile, bits, sink);
    }
  });
  return sink.take();
}

}  // namespace

std::int64_t WeightTiles::row_tile_count() const {
  const std::int64_t rows_per_tile = op == Op::kDual ? kTileRows / 2 : kTileRows;
  return divide_up(n, rows_per_tile);
}

std::int64_t WeightTiles::k_tile_count() const { return divide_up(k_elements, kTileK); }

std::size_t WeightTiles::bytes() const {
  return static_cast<std::size_t>(row_tile_count() * k_tile_count() *
                                  (kTileBytes + kTileSignBytes));
}

WeightTiles tiles_for(const WeightMatrices& matrices) {
  return {.op = matrices.op,
          .n = matrices.b.rows,
          .k_elements = matrices.b.k_elements,
          .operand = operand_of(matrices.activations)};
}

void pack_weights(const WeightMatrices& matrices, std::span<std::uint8_t> out) {
  const bool is_dual = matrices.op == Op::kDual;
  pack(tiles_for(matrices), Source(matrices.op, {&matrices.b, is_dual ? &matrices.up : nullptr}),
       out);
}

Nvfp4Matrix unpack_weights(const WeightTiles& tiles, std::span<const std::uint8_t> packed,
                           int matrix) {
  THRESHER_ASSERT(matrix == 0 || tiles.op == Op::kDual);
  return unpack(tiles, packed, matrix);
}

}  // namespace thresher::gpu
