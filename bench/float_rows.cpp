// SPDX-License-Identifier: Apache-2.0
#include "bench/float_rows.hpp"

#include <array>
#include <bit>

#include "cpu/features.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"
#include "thresher/nvfp4.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace thresher::bench {
namespace {

// Half of every E4M3 scale, because the codes are looked up as integers: 2 * E2M1.
constexpr std::array<float, 256> kHalfScales = [] {
  std::array<float, 256> table{};
  for (int code = 0; code < 256; ++code) {
    // Arithmetic with NaN is no constant expression.
    const float scale = nvfp4::decode_e4m3(static_cast<std::uint8_t>(code));
    table[code] = nvfp4::is_nan_e4m3(static_cast<std::uint8_t>(code)) ? scale : 0.5f * scale;
  }
  return table;
}();

constexpr std::array<float, 16> kTwiceE2m1 = [] {
  std::array<float, 16> table{};
  for (int code = 0; code < 16; ++code) {
    table[code] = 2.0f * nvfp4::decode_e2m1(static_cast<std::uint8_t>(code));
  }
  return table;
}();

void expand_nvfp4_portable(const std::uint8_t* codes, const std::uint8_t* scales,
                           std::int64_t k_elements, float* out) {
  for (std::int64_t i = 0; i < k_elements / 2; ++i) {
    const float half_scale = kHalfScales[scales[i / (kBlockElements / 2)]];
    out[2 * i] = kTwiceE2m1[codes[i] & 15] * half_scale;
    out[2 * i + 1] = kTwiceE2m1[codes[i] >> 4] * half_scale;
  }
}

// exp(-x) for x in [0, 87]: a power of two and a polynomial, in a form that vectorises.
[[gnu::always_inline]] inline float exp_negative(float x) {
  constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float n = (x * -1.44269504f + kRoundMagic) - kRoundMagic;
  const float r = (-x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127);
  return p * std::bit_cast<float>(exponent << 23);
}

[[gnu::always_inline]] inline void gate_loop(const float* gate, const float* up, std::int64_t count,
                                             float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gate[i];
    const float magnitude = g < 0.0f ? -g : g;
    const float t = exp_negative(magnitude < 87.0f ? magnitude : 87.0f);
    out[i] = g * (g < 0.0f ? t : 1.0f) / (1.0f + t) * up[i];
  }
}

#if defined(__x86_64__)

bool has_avx2() {
  static const bool has = cpu::can_run(cpu::Isa::kAvx2);
  return has;
}

[[gnu::target("avx2,fma")]] void expand_nvfp4_avx2(const std::uint8_t* codes,
                                                   const std::uint8_t* scales,
                                                   std::int64_t k_elements, float* out) {
  const __m128i twice_e2m1 = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  const __m128i nibble = _mm_set1_epi8(15);
  for (std::int64_t block = 0; block < k_elements / kBlockElements; ++block) {
    const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 8 * block));
    const __m128i low = _mm_and_si128(pairs, nibble);
    const __m128i high = _mm_and_si128(_mm_srli_epi16(pairs, 4), nibble);
    const __m128i bytes = _mm_shuffle_epi8(twice_e2m1, _mm_unpacklo_epi8(low, high));
    const __m256 half_scale = _mm256_set1_ps(kHalfScales[scales[block]]);
    const __m256 first = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
    const __m256 second = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)));
    _mm256_storeu_ps(out + kBlockElements * block, _mm256_mul_ps(first, half_scale));
    _mm256_storeu_ps(out + kBlockElements * block + 8, _mm256_mul_ps(second, half_scale));
  }
}

[[gnu::target("avx2,f16c")]] void expand_fp16_avx2(const std::uint16_t* values, std::int64_t count,
                                                   float* out) {
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(halves));
  }
}

[[gnu::target("avx2,fma")]] void gate_avx2(const float* gate, const float* up, std::int64_t count,
                                           float* out) {
  gate_loop(gate, up, count, out);
}

#endif

}  // namespace

void expand_nvfp4(const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t k_elements,
                  float* out) {
#if defined(__x86_64__)
  if (has_avx2()) return expand_nvfp4_avx2(codes, scales, k_elements, out);
#endif
  expand_nvfp4_portable(codes, scales, k_elements, out);
}

void expand_fp16(const std::uint16_t* values, std::int64_t count, float* out) {
#if defined(__x86_64__)
  // k is a multiple of 16, so whole vectors are all there is.
  if (has_avx2() && count % 8 == 0) return expand_fp16_avx2(values, count, out);
#endif
  for (std::int64_t i = 0; i < count; ++i) out[i] = nvfp4::fp16_to_float(values[i]);
}

void expand_bf16(const std::uint16_t* values, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = nvfp4::bf16_to_float(values[i]);
}

void gate_rows(const float* gate, const float* up, std::int64_t count, float* out) {
#if defined(__x86_64__)
  if (has_avx2()) return gate_avx2(gate, up, count, out);
#endif
  gate_loop(gate, up, count, out);
}

}  // namespace thresher::bench
