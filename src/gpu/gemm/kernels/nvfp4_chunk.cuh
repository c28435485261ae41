// SPDX-License-Identifier: Apache-2.0
// Eight NVFP4 activations become fp16: a chunk, 16 bytes of an image.
//
// Codes are decoded as those of weights are (weight_decode.cuh): their bits in place are the code
// times 2^-14. The product of that with 2^7 of the scale is exact: the true value times 2^-7, the
// global scale aside, which activation_unit (gemm_config.hpp) undoes. A NaN scale makes NaNs.
#pragma once

#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// 2^7 of an E4M3 scale as fp16, in both halves.
THRESHER_DEVICE u32 scale_factor(u32 scale) {
  constexpr u32 kTwoTo7 = 0x58005800;
  return hw::multiply_fp16x2(hw::unpack_e4m3x2(scale * 0x101), kTwoTo7);
}

// A byte holds two codes; the sign and the magnitude of one of them go where they belong in a byte,
// for all four bytes at once, and then each to the upper byte of its fp16.
THRESHER_DEVICE U32x4 decode_chunk(u32 codes, u32 factor) {
  constexpr u32 kSigns = 0x80808080;
  const u32 even = hw::select_bits(kSigns, codes << 4, codes << 1);
  const u32 odd = hw::select_bits(kSigns, codes, codes >> 3);
  const auto pair = [=](u32 selector) {
    constexpr u32 kMask = 0x8e008e00;
    return hw::multiply_fp16x2(hw::permute_bytes(even, odd, selector) & kMask, factor);
  };
  return {pair(0x4000), pair(0x5010), pair(0x6020), pair(0x7030)};
}

}  // namespace thresher::gpu
