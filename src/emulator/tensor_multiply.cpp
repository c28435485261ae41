// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a block-scaled FP4 MMA, in two ways.
//
// In order: every block of 16 is an exact integer, times both scales exact in float, and is added
// to the sum with one rounding to nearest, in the order of k: the steps of the CPU's integer tiles.
// As published (MMA-Sim, arXiv 2511.10909): the four blocks of an instruction and the sum are
// aligned to the largest exponent among them, cut off 35 bits below it, added exactly, and the
// result is cut off to float. Nobody has checked either against a B200 here.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "emulator/tensor_core.hpp"
#include "nvfp4/e4m3.hpp"

namespace thresher::emulator {
namespace {

constexpr int kTensorDepth = gpu::hw::kBlockScaledK;
constexpr int kCodeRowBytes = kTensorDepth / 2;
constexpr int kBlocks = 4;
constexpr int kCodeBlockBytes = kCodeRowBytes / kBlocks;
constexpr u32 kTensorRows = gpu::hw::kBlockScaledRows;
constexpr u8 kMagnitude = 0x7f;  // UE4M3 has no sign: the hardware does not look at the bit
constexpr u8 kNan = 0x7f;

// Twice an E2M1 value.
constexpr signed char kTwice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

float scale_value(u8 scale) { return nvfp4::decode_e4m3(scale & kMagnitude); }

// Exact: at most 12 bits of the dot product and 4 of either scale.
float block_value(const ScaledBlocks& blocks, int i) {
  return 0.25f * static_cast<float>(blocks.dot[i]) *
         (scale_value(blocks.a_scale[i]) * scale_value(blocks.b_scale[i]));
}

bool has_nan(const ScaledBlocks& blocks) {
  for (int i = 0; i < kBlocks; ++i) {
    if ((blocks.a_scale[i] & kMagnitude) == kNan || (blocks.b_scale[i] & kMagnitude) == kNan) {
      return true;
    }
  }
  return false;
}

// Cut off towards zero to a float.
float truncated(double value) {
  const auto rounded = static_cast<float>(value);
  if (std::fabs(static_cast<double>(rounded)) <= std::fabs(value)) return rounded;
  return std::nextafter(rounded, 0.0f);
}

float add_aligned(float sum, const ScaledBlocks& blocks) {
  constexpr int kFractionBits = 35;
  double terms[kBlocks + 1] = {};
  for (int i = 0; i < kBlocks; ++i) terms[i] = block_value(blocks, i);
  terms[kBlocks] = sum;
  int largest = std::numeric_limits<int>::min();
  for (const double term : terms) {
    if (term != 0) largest = std::max(largest, std::ilogb(term));
  }
  if (largest == std::numeric_limits<int>::min()) return 0.0f;
  // Five terms of 36 bits are exact in a double.
  double total = 0;
  for (const double term : terms) {
    total += std::trunc(std::ldexp(term, kFractionBits - largest));
  }
  return truncated(std::ldexp(total, largest - kFractionBits));
}

// The codes of rows, twice their values.
struct Codes {
  signed char of[256][kTensorDepth];
};

void read_codes(const MatrixView& view, SharedMemory& shared, u32 rows,
                signed char (*codes)[kTensorDepth]) {
  for (u32 row = 0; row < rows; ++row) {
    for (int chunk = 0; chunk < 2; ++chunk) {
      const u8* const from = shared.data(view.chunk_address(static_cast<int>(row), chunk));
      signed char* const to = &codes[row][chunk * 32];
      for (int i = 0; i < 16; ++i) {
        to[2 * i] = kTwice[from[i] & 15];
        to[2 * i + 1] = kTwice[from[i] >> 4];
      }
    }
  }
}

// Row r's four scales: lane r % 32, from `lane` on, of column r / 32.
void read_scales(TensorMemory& memory, u32 lane, u32 first, u32 row, u8 (&scales)[kBlocks]) {
  const u32 word = memory.at(lane + row % 32, first + row / 32);
  std::memcpy(scales, &word, sizeof scales);
}

}  // namespace

float add_blocks(TensorSums model, float sum, const ScaledBlocks& blocks) {
  if (has_nan(blocks) || std::isnan(sum)) return std::numeric_limits<float>::quiet_NaN();
  if (model == TensorSums::kAligned) return add_aligned(sum, blocks);
  for (int i = 0; i < kBlocks; ++i) sum += block_value(blocks, i);
  return sum;
}

namespace {

// The sums of one block's rows. Where they are 64, the second half of the columns, and of B's
// scales, lies in the upper 64 lanes.
void multiply_rows(const TensorMma& mma, const Codes& a, const Codes& b, TensorMemory& memory) {
  const u32 in_a_row = mma.rows == kTensorRows ? mma.columns : mma.columns / 2;
  for (u32 row = 0; row < mma.rows; ++row) {
    ScaledBlocks blocks;
    read_scales(memory, 0, mma.a_scales, row, blocks.a_scale);
    for (u32 column = 0; column < mma.columns; ++column) {
      const u32 lane = column / in_a_row * mma.rows;
      const u32 place = column % in_a_row;
      read_scales(memory, lane, mma.b_scales, place, blocks.b_scale);
      for (int block = 0; block < kBlocks; ++block) {
        int dot = 0;
        for (int k = 2 * kCodeBlockBytes * block; k < 2 * kCodeBlockBytes * (block + 1); ++k) {
          dot += a.of[row][k] * b.of[column][k];
        }
        blocks.dot[block] = mma.negate ? -dot : dot;
      }
      u32& cell = memory.at(lane + row, mma.sums + place);
      float sum = 0;
      if (mma.add) std::memcpy(&sum, &cell, sizeof sum);
      sum = add_blocks(mma.model, sum, blocks);
      std::memcpy(&cell, &sum, sizeof sum);
    }
  }
}

}  // namespace

void multiply(const TensorMma& mma, std::span<const TensorSide> sides) {
  thread_local Codes a;
  thread_local Codes b;
  const u32 share = mma.columns / static_cast<u32>(sides.size());
  u32 first = 0;
  for (const TensorSide& side : sides) {
    read_codes(mma.b, *side.shared, share, &b.of[first]);
    first += share;
  }
  for (const TensorSide& side : sides) {
    read_codes(mma.a, *side.shared, mma.rows, a.of);
    multiply_rows(mma, a, b, *side.memory);
  }
}

}  // namespace thresher::emulator
