// SPDX-License-Identifier: Apache-2.0
// The end of a tile: factors, SiLU and product in FP32, one rounding to the output type, the store.
//
// Written as plain loops over 16 columns that the compiler vectorises for whatever instruction set the
// including body is compiled for. No step is contracted or reassociated, so all bodies agree bit for bit.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/body.hpp"
#include "nvfp4/half.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace thresher::cpu {
namespace {

// exp(-x) for x >= 0, within 2 ulp; below 2^-126 it is 0. Cody-Waite reduction, then the Taylor
// polynomial of degree 7 on |r| <= ln(2)/2, whose remainder is under 2^-28 of the result.
inline float exp_negative(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;      // 9 bits: n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRoundMagic = 12582912.0f;    // 1.5 * 2^23: adding it rounds to an integer
  const float clamped = x < 87.3f ? x : 87.3f;
  const float n = (clamped * -kLog2E + kRoundMagic) - kRoundMagic;
  const float r = (-clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const std::uint32_t power_bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127)
                                   << 23;
  float power;
  std::memcpy(&power, &power_bits, sizeof power);
  return x < 87.3f ? p * power : 0.0f;
}

// g / (1 + exp(-g)) through exp(-|g|), which cannot overflow.
inline float silu(float g) {
  const float magnitude = g < 0.0f ? -g : g;
  const float t = exp_negative(magnitude);
  return g * (g < 0.0f ? t : 1.0f) / (1.0f + t);
}

template <Output output>
struct Stored {
  using Type = std::uint16_t;
};
template <>
struct Stored<Output::kFp32> {
  using Type = float;
};

inline void round_16_fp16(const float* values, std::uint16_t* out) {
#if defined(__F16C__)
  for (int i = 0; i < kPanelColumns; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
  }
#else
  for (int i = 0; i < kPanelColumns; ++i) out[i] = nvfp4::float_to_fp16(values[i]);
#endif
}

// The same rounding as nvfp4::float_to_bf16, in a form that vectorises.
inline void round_16_bf16(const float* values, std::uint16_t* out) {
  for (int i = 0; i < kPanelColumns; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const std::uint32_t quiet_nan = (bits >> 16 & 0x8000u) | nvfp4::kBf16QuietNan;
    out[i] = static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
  }
}

template <Output output>
inline void round_panel(const float* values, typename Stored<output>::Type* out) {
  if constexpr (output == Output::kFp32) {
    std::memcpy(out, values, kPanelColumns * sizeof(float));
  } else if constexpr (output == Output::kFp16) {
    round_16_fp16(values, out);
  } else {
    round_16_bf16(values, out);
  }
}

// Non-temporal stores need 32-byte alignment; a row that has none is stored plainly.
inline void store_row(const void* from, void* to, std::size_t bytes, bool streaming) {
#if defined(__AVX2__)
  if (streaming && reinterpret_cast<std::uintptr_t>(to) % 32 == 0 && bytes % 32 == 0) {
    for (std::size_t i = 0; i < bytes; i += 32) {
      const __m256i chunk = _mm256_loadu_si256(
          reinterpret_cast<const __m256i*>(static_cast<const char*>(from) + i));
      _mm256_stream_si256(reinterpret_cast<__m256i*>(static_cast<char*>(to) + i), chunk);
    }
    return;
  }
#endif
  (void)streaming;
  std::memcpy(to, from, bytes);
}

// Streamed rows become visible to other threads in order only behind a fence.
inline void end_streaming(bool streaming) {
#if defined(__AVX2__)
  if (streaming) _mm_sfence();
#endif
  (void)streaming;
}

template <Output output>
struct RowStore {
  using Element = typename Stored<output>::Type;
  const FinishArgs& args;

  void operator()(int row, const Element* values) const {
    Element* c = static_cast<Element*>(args.c) + row * args.c_stride_elements;
    store_row(values, c, static_cast<std::size_t>(args.column_count) * sizeof(Element),
              args.streaming);
  }
};

template <Output output>
void finish_gemm(const FinishArgs& args) {
  const RowStore<output> store{args};
  for (int row = 0; row < args.row_count; ++row) {
    alignas(64) typename Stored<output>::Type rounded[kSumColumns];
    for (int first = 0; first < args.column_count; first += kPanelColumns) {
      alignas(64) float scaled[kPanelColumns];
      const float* sums = args.sums + row * kSumColumns + first;
      for (int i = 0; i < kPanelColumns; ++i) scaled[i] = sums[i] * args.factor;
      round_panel<output>(scaled, rounded + first);
    }
    store(row, rounded);
  }
  end_streaming(args.streaming);
}

// silu(gate) * up for 16 columns.
inline void gate_16(const float* gate, const float* up, float factor_up, float* out) {
  for (int i = 0; i < kPanelColumns; ++i) out[i] = silu(gate[i]) * (up[i] * factor_up);
}

template <Output output>
void finish_dual(const FinishArgs& args) {
  const RowStore<output> store{args};
  for (int row = 0; row < args.row_count; ++row) {
    const float* sums = args.sums + row * kSumColumns;
    alignas(64) float gate[kPanelColumns];
    alignas(64) float gated[kPanelColumns];
    alignas(64) typename Stored<output>::Type rounded[kPanelColumns];
    for (int i = 0; i < kPanelColumns; ++i) gate[i] = sums[i] * args.factor;
    gate_16(gate, sums + kPanelColumns, args.factor_up, gated);
    round_panel<output>(gated, rounded);
    store(row, rounded);
  }
  end_streaming(args.streaming);
}

// Two-pass dual: the first pass left the finished gate product in memory as floats.
template <Output output>
void finish_second_pass(const FinishArgs& args) {
  const RowStore<output> store{args};
  for (int row = 0; row < args.row_count; ++row) {
    alignas(64) typename Stored<output>::Type rounded[kSumColumns];
    for (int first = 0; first < args.column_count; first += kPanelColumns) {
      const int left = args.column_count - first;
      const std::size_t count = static_cast<std::size_t>(left < kPanelColumns ? left : kPanelColumns);
      alignas(64) float gate[kPanelColumns] = {};
      alignas(64) float gated[kPanelColumns];
      std::memcpy(gate, args.gate + row * args.gate_stride_elements + first, count * sizeof(float));
      gate_16(gate, args.sums + row * kSumColumns + first, args.factor_up, gated);
      round_panel<output>(gated, rounded + first);
    }
    store(row, rounded);
  }
  end_streaming(args.streaming);
}

inline void set_finish_functions(Body& body) {
  body.finish_gemm[static_cast<int>(Output::kFp16)] = finish_gemm<Output::kFp16>;
  body.finish_gemm[static_cast<int>(Output::kBf16)] = finish_gemm<Output::kBf16>;
  body.finish_gemm[static_cast<int>(Output::kFp32)] = finish_gemm<Output::kFp32>;
  body.finish_dual[static_cast<int>(Output::kFp16)] = finish_dual<Output::kFp16>;
  body.finish_dual[static_cast<int>(Output::kBf16)] = finish_dual<Output::kBf16>;
  body.finish_dual[static_cast<int>(Output::kFp32)] = finish_dual<Output::kFp32>;
  body.finish_second_pass[static_cast<int>(Output::kFp16)] = finish_second_pass<Output::kFp16>;
  body.finish_second_pass[static_cast<int>(Output::kBf16)] = finish_second_pass<Output::kBf16>;
  body.finish_second_pass[static_cast<int>(Output::kFp32)] = finish_second_pass<Output::kFp32>;
}

}  // namespace
}  // namespace thresher::cpu
