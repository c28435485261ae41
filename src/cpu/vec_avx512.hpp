// SPDX-License-Identifier: Apache-2.0
// 512-bit vectors under the names the tile templates use. Included only by bodies compiled for
// AVX-512; everything has internal linkage so that no other file can link to it.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace thresher::cpu {
namespace {

struct Avx512Base {
  static constexpr int kLanes = 16;
  using Int = __m512i;
  using Float = __m512;

  static Int load_bytes(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
  static void store_bytes(std::uint8_t* p, Int v) { _mm512_storeu_si512(p, v); }
  static Int broadcast(const std::uint8_t* p) {
    std::int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
  }
  static Int low_codes(Int raw) {
    return _mm512_shuffle_epi8(table(), _mm512_and_si512(raw, _mm512_set1_epi8(0x0f)));
  }
  static Int high_codes(Int raw) {
    return _mm512_shuffle_epi8(table(),
                               _mm512_and_si512(_mm512_srli_epi16(raw, 4), _mm512_set1_epi8(0x0f)));
  }
  // E4M3 bits shifted into fp16's fields are the value times 2^-8, subnormals and sign included.
  static Float scales(const std::uint8_t* e4m3) {
    const __m256i words =
        _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(e4m3)));
    const __m256i shifted = _mm256_srai_epi16(_mm256_slli_epi16(words, 8), 1);
    return _mm512_cvtph_ps(
        _mm256_and_si256(shifted, _mm256_set1_epi16(static_cast<short>(0xbfff))));
  }
  static Int multiply_pairs(Int a, Int b) { return _mm512_madd_epi16(a, b); }
  static Float to_float(Int v) { return _mm512_cvtepi32_ps(v); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float zero() { return _mm512_setzero_ps(); }
  static Float load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Float v) { _mm512_storeu_ps(p, v); }
  static Float broadcast_float(const float* p) { return _mm512_set1_ps(*p); }

  // E2M1 code in the low nibble of dword >> shift, as a float: vpermps reads just those four bits.
  template <int kShift>
  static Float values(Int dwords) {
    return look_up<kShift>(dwords, e2m1());
  }
  template <int kShift>
  static Float look_up(Int dwords, Float entries) {
    return _mm512_permutexvar_ps(_mm512_srli_epi32(dwords, kShift), entries);
  }

  // One value times every code, over 8, so that the largest bf16 overflows as little as it would
  // times a weight; and what a scale is multiplied by for that. Powers of two: exact.
  static constexpr bool kHasProducts = true;
  static Float products(const float* value) {
    return mul(broadcast_float(value), mul(e2m1(), _mm512_set1_ps(0.125f)));
  }
  static Float scales_of_products(Float scales) { return mul(scales, _mm512_set1_ps(8.0f)); }

 private:
  static Float e2m1() {
    return _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, -0.0f, -0.5f, -1.0f,
                          -1.5f, -2.0f, -3.0f, -4.0f, -6.0f);
  }
  // 2*E2M1 + 12: unsigned, as the first operand of a byte multiply-add must be.
  static Int table() {
    return _mm512_broadcast_i32x4(
        _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
  }
};

struct Avx512Pairs : Avx512Base {
  static constexpr bool kPairSums = true;
  static Int dot(Int sum, Int weights, Int activations) {
    return _mm512_add_epi16(sum, _mm512_maddubs_epi16(weights, activations));
  }
};

#if defined(__AVX512VNNI__)
struct Avx512Quads : Avx512Base {
  static constexpr bool kPairSums = false;
  static Int dot(Int sum, Int weights, Int activations) {
    return _mm512_dpbusd_epi32(sum, weights, activations);
  }
};
#endif

}  // namespace
}  // namespace thresher::cpu
