// SPDX-License-Identifier: Apache-2.0
// The tile templates' vector vocabulary in plain C++, for machines without AVX2. Products of the tiles
// are exact, so a multiplication and an addition round as one fused multiply-add does.
#pragma once

#include <cstdint>
#include <cstring>

namespace thresher::cpu {
namespace {

struct PortableQuads {
  static constexpr int kLanes = 16;
  static constexpr bool kPairSums = false;
  struct Int {
    std::uint8_t bytes[64];
  };
  struct Float {
    float lanes[kLanes];
  };

  static Int load_bytes(const std::uint8_t* p) {
    Int v;
    std::memcpy(v.bytes, p, sizeof v.bytes);
    return v;
  }
  static void store_bytes(std::uint8_t* p, const Int& v) { std::memcpy(p, v.bytes, sizeof v.bytes); }
  static Int broadcast(const std::uint8_t* p) {
    Int v;
    for (int lane = 0; lane < kLanes; ++lane) std::memcpy(v.bytes + 4 * lane, p, 4);
    return v;
  }
  static Int low_codes(const Int& raw) {
    Int v;
    for (int i = 0; i < 64; ++i) v.bytes[i] = kTable[raw.bytes[i] & 15];
    return v;
  }
  static Int high_codes(const Int& raw) {
    Int v;
    for (int i = 0; i < 64; ++i) v.bytes[i] = kTable[raw.bytes[i] >> 4];
    return v;
  }
  // In units of 2^8, like the other vocabularies.
  static Float scales(const std::uint8_t* e4m3) {
    Float v;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int exponent = e4m3[lane] >> 3 & 15;
      const int mantissa = exponent == 0 ? e4m3[lane] & 7 : 8 + (e4m3[lane] & 7);
      const int power = exponent == 0 ? 0 : exponent - 1;
      const float magnitude = static_cast<float>(mantissa << power) * 0x1p-17f;
      v.lanes[lane] = (e4m3[lane] & 0x80) != 0 ? -magnitude : magnitude;
    }
    return v;
  }
  static Int dot(const Int& sum, const Int& weights, const Int& activations) {
    Int v;
    for (int lane = 0; lane < kLanes; ++lane) {
      std::int32_t total = word(sum, lane);
      for (int i = 4 * lane; i < 4 * lane + 4; ++i) {
        total += weights.bytes[i] * static_cast<std::int8_t>(activations.bytes[i]);
      }
      std::memcpy(v.bytes + 4 * lane, &total, sizeof total);
    }
    return v;
  }
  static Int multiply_pairs(const Int& a, const Int& b) {
    Int v;
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int32_t product = static_cast<std::int16_t>(word(a, lane) & 0xffff) *
                                   static_cast<std::int16_t>(word(b, lane) & 0xffff);
      std::memcpy(v.bytes + 4 * lane, &product, sizeof product);
    }
    return v;
  }
  static Float to_float(const Int& v) {
    Float out;
    for (int lane = 0; lane < kLanes; ++lane) out.lanes[lane] = static_cast<float>(word(v, lane));
    return out;
  }
  static Float fma(const Float& a, const Float& b, const Float& c) {
    Float v;
    for (int lane = 0; lane < kLanes; ++lane) {
      v.lanes[lane] = a.lanes[lane] * b.lanes[lane] + c.lanes[lane];
    }
    return v;
  }
  static Float mul(const Float& a, const Float& b) {
    Float v;
    for (int lane = 0; lane < kLanes; ++lane) v.lanes[lane] = a.lanes[lane] * b.lanes[lane];
    return v;
  }
  static Float zero() { return Float{}; }
  static Float load(const float* p) {
    Float v;
    std::memcpy(v.lanes, p, sizeof v.lanes);
    return v;
  }
  static void store(float* p, const Float& v) { std::memcpy(p, v.lanes, sizeof v.lanes); }
  static Float broadcast_float(const float* p) {
    Float v;
    for (int lane = 0; lane < kLanes; ++lane) v.lanes[lane] = *p;
    return v;
  }
  static void keep(const Int&) {}

  template <int kShift>
  static Float values(const Int& dwords) {
    static constexpr float kE2m1[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                        -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
    Float v;
    for (int lane = 0; lane < kLanes; ++lane) {
      v.lanes[lane] = kE2m1[static_cast<std::uint32_t>(word(dwords, lane)) >> kShift & 15];
    }
    return v;
  }

 private:
  static constexpr std::uint8_t kTable[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                              12, 11, 10, 9,  8,  6,  4,  0};

  static std::int32_t word(const Int& v, int lane) {
    std::int32_t value;
    std::memcpy(&value, v.bytes + 4 * lane, sizeof value);
    return value;
  }
};

}  // namespace
}  // namespace thresher::cpu
