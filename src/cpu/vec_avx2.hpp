// SPDX-License-Identifier: Apache-2.0
// 256-bit vectors under the names the tile templates use; internal linkage, like vec_avx512.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace thresher::cpu {
namespace {

struct Avx2Pairs {
  static constexpr int kLanes = 8;
  static constexpr bool kPairSums = true;
  using Int = __m256i;
  using Float = __m256;

  static Int load_bytes(const std::uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store_bytes(std::uint8_t* p, Int v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static Int broadcast(const std::uint8_t* p) {
    std::int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
  }
  static Int low_codes(Int raw) {
    return _mm256_shuffle_epi8(table(), _mm256_and_si256(raw, _mm256_set1_epi8(0x0f)));
  }
  static Int high_codes(Int raw) {
    return _mm256_shuffle_epi8(table(),
                               _mm256_and_si256(_mm256_srli_epi16(raw, 4), _mm256_set1_epi8(0x0f)));
  }
  // E4M3 bits shifted into fp16's fields are the value times 2^-8, subnormals and sign included.
  static Float scales(const std::uint8_t* e4m3) {
    const __m128i words =
        _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(e4m3)));
    const __m128i shifted = _mm_srai_epi16(_mm_slli_epi16(words, 8), 1);
    return _mm256_cvtph_ps(_mm_and_si128(shifted, _mm_set1_epi16(static_cast<short>(0xbfff))));
  }
  static Int dot(Int sum, Int weights, Int activations) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(weights, activations));
  }
  static Int multiply_pairs(Int a, Int b) { return _mm256_madd_epi16(a, b); }
  static Float to_float(Int v) { return _mm256_cvtepi32_ps(v); }
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float zero() { return _mm256_setzero_ps(); }
  static Float load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Float v) { _mm256_storeu_ps(p, v); }
  static Float broadcast_float(const float* p) { return _mm256_set1_ps(*p); }

  static constexpr bool kHasProducts = false;  // a vector does not hold those of 16 codes

  // E2M1 code in the low nibble of dword >> shift, as a float: vpermps reads the three magnitude
  // bits, the sign bit is moved to where a float has it.
  template <int kShift>
  static Float values(Int dwords) {
    const __m256 e2m1 = _mm256_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f);
    const __m256 magnitude = _mm256_permutevar8x32_ps(e2m1, _mm256_srli_epi32(dwords, kShift));
    const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(dwords, 28 - kShift),
                                          _mm256_set1_epi32(static_cast<int>(0x80000000u)));
    return _mm256_xor_ps(magnitude, _mm256_castsi256_ps(sign));
  }

 private:
  // 2*E2M1 + 12: unsigned, as the first operand of a byte multiply-add must be.
  static Int table() {
    return _mm256_broadcastsi128_si256(
        _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
  }
};

}  // namespace
}  // namespace thresher::cpu
