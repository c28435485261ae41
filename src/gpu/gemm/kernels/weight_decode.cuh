// SPDX-License-Identifier: Apache-2.0
// Packed weights (weight_layout.hpp) become the A fragment of an MMA: codes to 16-bit floats, times
// their scale, exactly.
//
// The bits s|eem of an E2M1 code, put at the sign and at the lowest exponent bits and top mantissa
// bit of a 16-bit float, are that code times 2^-14 (fp16) or 2^-126 (bf16); the code of 1/2 becomes
// a subnormal of the right value. The bits eeeee|mmm of a packed scale, put likewise, are the scale
// times 2^7 in fp16, zero included. In bf16, with ones in the exponent bits above, they are the
// scale times 2^119; only zero has become 2^97, and taking that away leaves all other scales, which
// are at least 2^110, as they were once the result is rounded. The product of code and scale is the
// true one times 2^-7, exactly: it has at most 6 significant bits and is a multiple of 2^-17, well
// above the least subnormals of either type. That is what the 2^7 of kWeightUnit undoes.
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/weight_layout.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

template <hw::Operand kOperand>
struct WeightDecode;

template <>
struct WeightDecode<hw::Operand::kFp16> {
  // Value kValue of both halves, the scale aside.
  template <int kValue>
  static THRESHER_DEVICE u32 codes(u32 word) {
    constexpr u32 kMask = 0x8e008e00;
    if constexpr (kValue == 0) return word & kMask;
    if constexpr (kValue == 1) return word << 3 & kMask;
    // The product moves the sign and the magnitude by different distances at once; what it puts
    // elsewhere is masked off, and no carry reaches what is kept.
    if constexpr (kValue == 2) return (word & 0x40384038u) * 0x42u & kMask;
    if constexpr (kValue == 3) return (word & 0x20072007u) * 0x204u & kMask;
  }

  // The scales of an even (high bytes) or odd (low bytes) step, one row per half.
  static THRESHER_DEVICE u32 scales(u32 word, int step) {
    constexpr u32 kMask = 0x7f807f80;
    return (step % 2 == 0 ? word >> 1 : word << 7) & kMask;
  }

  static THRESHER_DEVICE u32 multiply(u32 a, u32 b) { return hw::multiply_fp16x2(a, b); }
};

template <>
struct WeightDecode<hw::Operand::kBf16> {
  template <int kValue>
  static THRESHER_DEVICE u32 codes(u32 word) {
    constexpr u32 kSign = 0x80008000;
    constexpr u32 kMagnitude = 0x01c001c0;
    constexpr u32 kMask = kSign | kMagnitude;
    if constexpr (kValue == 0) return word & kMask;
    if constexpr (kValue == 1) return word << 3 & kMask;
    if constexpr (kValue == 2) return (word & 0x40074007u) * 0x42u & kMask;  // as in fp16
    if constexpr (kValue == 3) return (word << 2 & kSign) | (word >> 3 & kMagnitude);
  }

  static THRESHER_DEVICE u32 scales(u32 word, int step) {
    constexpr u32 kMask = 0x0ff00ff0;
    constexpr u32 kTwoTo97 = 0x70007000;
    constexpr u32 kMinusTwoTo97 = 0xf000f000;
    const u32 placed = (step % 2 == 0 ? word >> 4 : word << 4) & kMask;
    return hw::add_bf16x2(placed | kTwoTo97, kMinusTwoTo97);
  }

  static THRESHER_DEVICE u32 multiply(u32 a, u32 b) { return hw::multiply_bf16x2(a, b); }
};

#ifndef __CUDACC_RTC__
template <>
struct WeightDecode<hw::Operand::kOfLaunch> {
  using Fp16 = WeightDecode<hw::Operand::kFp16>;
  using Bf16 = WeightDecode<hw::Operand::kBf16>;

  static bool is_bf16() { return hw::launch_types().operand == hw::Operand::kBf16; }

  template <int kIndex>
  static u32 codes(u32 word) {
    return is_bf16() ? Bf16::codes<kIndex>(word) : Fp16::codes<kIndex>(word);
  }
  static u32 scales(u32 word, int step) {
    return is_bf16() ? Bf16::scales(word, step) : Fp16::scales(word, step);
  }
  static u32 multiply(u32 a, u32 b) {
    return is_bf16() ? Bf16::multiply(a, b) : Fp16::multiply(a, b);
  }
};
#endif

// A thread's share of one sub-tile, as it lies in shared memory.
struct PackedFragment {
  U32x4 codes;   // a word per step
  U32x2 scales;  // a word per two steps

  static THRESHER_DEVICE PackedFragment load(hw::SharedAddress codes, hw::SharedAddress scales) {
    return {hw::load_shared<U32x4>(codes), hw::load_shared<U32x2>(scales)};
  }
  static THRESHER_DEVICE PackedFragment load(const u8* codes, const u8* scales) {
    return {hw::load_global(reinterpret_cast<const U32x4*>(codes)),
            hw::load_global(reinterpret_cast<const U32x2*>(scales))};
  }

  THRESHER_DEVICE u32 code_word(int step) const {
    if (step < 2) return step == 0 ? codes.x : codes.y;
    return step == 2 ? codes.z : codes.w;
  }

  THRESHER_DEVICE u32 scale_word(int step) const { return step < 2 ? scales.x : scales.y; }
};

// One step of a sub-tile: rows r and r+8 take turns in the registers.
template <hw::Operand kOperand>
THRESHER_DEVICE void decode_step(const PackedFragment& packed, int step, u32 (&a)[4]) {
  using Decode = WeightDecode<kOperand>;
  const u32 word = packed.code_word(step);
  const u32 scales = Decode::scales(packed.scale_word(step), step);
  const u32 low = hw::low_in_both(scales);
  const u32 high = hw::high_in_both(scales);
  a[0] = Decode::multiply(Decode::template codes<0>(word), low);
  a[1] = Decode::multiply(Decode::template codes<1>(word), high);
  a[2] = Decode::multiply(Decode::template codes<2>(word), low);
  a[3] = Decode::multiply(Decode::template codes<3>(word), high);
}

// One step of a pass over dual weights: the gate rows (r) or the up rows (r+8) of two sub-tiles
// make one fragment.
template <hw::Operand kOperand, bool kUp>
THRESHER_DEVICE void decode_half_steps(const PackedFragment (&packed)[2], int step, u32 (&a)[4]) {
  using Decode = WeightDecode<kOperand>;
  THRESHER_UNROLL
  for (int i = 0; i < 2; ++i) {
    const u32 word = packed[i].code_word(step);
    const u32 scales = Decode::scales(packed[i].scale_word(step), step);
    const u32 scale = kUp ? hw::high_in_both(scales) : hw::low_in_both(scales);
    a[i] = Decode::multiply(Decode::template codes < kUp ? 1 : 0 > (word), scale);
    a[2 + i] = Decode::multiply(Decode::template codes < kUp ? 3 : 2 > (word), scale);
  }
}

// Where a thread finds its share of the weights, from the first byte of the block's tiles of 128
// rows on, which lie one after the other. `first_sub_tile` is the warpgroup's first; what else it
// has lies at constant distances, because that is the first of a tile, or there is nothing else.
struct PackedPlace {
  u32 codes;
  u32 scales;

  // `thread` is an index within the warpgroup.
  THRESHER_DEVICE PackedPlace(int first_sub_tile, int thread) {
    const int tile = first_sub_tile / kSubTilesPerTile * kTileBytes;
    const int sub_tile = first_sub_tile % kSubTilesPerTile;
    codes = static_cast<u32>(tile + sub_tile * kSubTileCodeBytes + thread * 16);
    scales =
        static_cast<u32>(tile + kTileCodeBytes + sub_tile * kSubTileScaleBytes + thread / 4 * 8);
  }
};

// A thread's share of one strip (gemm_config.hpp) and its decode.
template <Product kProduct>
struct PackedStrip {
  static constexpr int kSubTiles = sub_tiles_per_strip(kProduct);

  PackedFragment sub_tiles[kSubTiles];

  // `tiles` are in shared or in global memory; `strip` counts from the warpgroup's first.
  template <typename Address>
  static THRESHER_DEVICE PackedStrip load(Address tiles, const PackedPlace& place, int strip) {
    PackedStrip packed;
    THRESHER_UNROLL
    for (int i = 0; i < kSubTiles; ++i) {
      const int sub_tile = strip * kSubTiles + i;
      const int tile = sub_tile / kSubTilesPerTile * kTileBytes;
      const int in_tile = sub_tile % kSubTilesPerTile;
      packed.sub_tiles[i] =
          PackedFragment::load(tiles + place.codes + (tile + in_tile * kSubTileCodeBytes),
                               tiles + place.scales + (tile + in_tile * kSubTileScaleBytes));
    }
    return packed;
  }

  template <hw::Operand kOperand>
  THRESHER_DEVICE void decode(int step, u32 (&a)[4]) const {
    if constexpr (is_pass(kProduct)) {
      decode_half_steps<kOperand, kProduct == Product::kUpPass>(sub_tiles, step, a);
    } else {
      decode_step<kOperand>(sub_tiles[0], step, a);
    }
  }
};

}  // namespace thresher::gpu
