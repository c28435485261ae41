// SPDX-License-Identifier: Apache-2.0
// Pairs of 16-bit floats and bits, as the emulator computes them: rounded once, to nearest even,
// subnormals kept, and a NaN result is 0x7fff, as on the device.
#pragma once

#include <bit>
#include <cmath>

#include "gpu/hw/words.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher::gpu::hw {

inline u32 pair_of(u16 low, u16 high) { return low | static_cast<u32>(high) << 16; }

inline u16 round_fp16(double value) {
  return std::isnan(value) ? u16{0x7fff} : nvfp4::double_to_fp16(value);
}

inline u16 round_bf16(double value) {
  return std::isnan(value) ? u16{0x7fff} : nvfp4::double_to_bf16(value);
}

inline float fp16_low(u32 pair) { return nvfp4::fp16_to_float(static_cast<u16>(pair)); }
inline float fp16_high(u32 pair) { return nvfp4::fp16_to_float(static_cast<u16>(pair >> 16)); }
inline float bf16_low(u32 pair) { return nvfp4::bf16_to_float(static_cast<u16>(pair)); }
inline float bf16_high(u32 pair) { return nvfp4::bf16_to_float(static_cast<u16>(pair >> 16)); }

inline u32 pack_fp16x2(float low, float high) { return pair_of(round_fp16(low), round_fp16(high)); }
inline u32 pack_bf16x2(float low, float high) { return pair_of(round_bf16(low), round_bf16(high)); }

// Two E4M3 values, in the low two bytes.
inline u32 unpack_e4m3x2(u32 pair) {
  return pack_fp16x2(nvfp4::decode_e4m3(static_cast<std::uint8_t>(pair)),
                     nvfp4::decode_e4m3(static_cast<std::uint8_t>(pair >> 8)));
}

// In double the product of two 16-bit floats is exact, so it is rounded once.
inline u32 multiply_fp16x2(u32 a, u32 b) {
  return pair_of(round_fp16(double{fp16_low(a)} * fp16_low(b)),
                 round_fp16(double{fp16_high(a)} * fp16_high(b)));
}

inline u32 multiply_bf16x2(u32 a, u32 b) {
  return pair_of(round_bf16(double{bf16_low(a)} * bf16_low(b)),
                 round_bf16(double{bf16_high(a)} * bf16_high(b)));
}

// Of bf16 values whose exponents lie so far apart that a double rounds, only one counts.
inline u32 add_bf16x2(u32 a, u32 b) {
  return pair_of(round_bf16(double{bf16_low(a)} + bf16_low(b)),
                 round_bf16(double{bf16_high(a)} + bf16_high(b)));
}

inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline float bits_to_float(u32 bits) { return std::bit_cast<float>(bits); }
inline u32 float_to_bits(float value) { return std::bit_cast<u32>(value); }

// One half of a pair, twice.
inline u32 low_in_both(u32 pair) { return (pair & 0xffff) * 0x10001u; }
inline u32 high_in_both(u32 pair) { return (pair >> 16) * 0x10001u; }

// The bits of a where the mask has ones, those of b elsewhere.
inline u32 select_bits(u32 mask, u32 a, u32 b) { return (a & mask) | (b & ~mask); }

// Byte i of the result is byte (selector >> 4*i) & 7 of b:a; bit 3 of the selector spreads that
// byte's sign over the whole byte instead.
inline u32 permute_bytes(u32 a, u32 b, u32 selector) {
  const u64 bytes = a | static_cast<u64>(b) << 32;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 choice = selector >> (4 * i) & 0xf;
    u32 byte = static_cast<u32>(bytes >> (8 * (choice & 7))) & 0xff;
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

}  // namespace thresher::gpu::hw
