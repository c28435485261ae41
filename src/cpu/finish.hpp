// SPDX-License-Identifier: Apache-2.0
// The end of a tile: factors, SiLU and product in FP32, one rounding to the output type, the store.
//
// Written over the 16 columns of a panel for whatever instruction set the including body is
// compiled for. No step is contracted or reassociated, so all bodies agree bit for bit.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/body.hpp"
#include "cpu/columns.hpp"
#include "nvfp4/half.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace thresher::cpu {
namespace {

// exp(-x) for x >= 0, within 2 ulp; below 2^-126 it is 0. Cody-Waite reduction, then the Taylor
// polynomial of degree 7 on |r| <= ln(2)/2, whose remainder is under 2^-28 of the result.
inline void exp_negative(const Columns& x, Columns& out) {
  constexpr float kFlushAbove = 87.3f;
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // 9 bits: n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Columns limit = Columns{} + kFlushAbove;
  const Columns clamped = x < limit ? x : limit;
  const Columns n = (clamped * -kLog2E + kRoundMagic) - kRoundMagic;
  const Columns r = (-clamped - n * kLn2High) - n * kLn2Low;
  Columns p = r * (1.0f / 5040.0f) + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const IntColumns power_bits = (__builtin_convertvector(n, IntColumns) + 127) << 23;
  Columns power;
  std::memcpy(&power, &power_bits, sizeof power);
  out = x < limit ? p * power : Columns{};
}

// g / (1 + exp(-g)) through exp(-|g|), which cannot overflow.
inline void silu(const Columns& g, Columns& out) {
  const Columns one = Columns{} + 1.0f;
  Columns t;
  exp_negative(g < 0.0f ? -g : g, t);
  out = g * (g < 0.0f ? t : one) / (one + t);
}

// 16 sums times the factor.
inline void apply(const Factor& factor, const float* sums, Columns& out) {
  Columns loaded;
  std::memcpy(&loaded, sums, sizeof loaded);
  out = loaded * factor.main * factor.rest;
}

template <Output output>
struct Stored {
  using Type = std::uint16_t;
};
template <>
struct Stored<Output::kFp32> {
  using Type = float;
};

inline void round_to_fp16(const Columns& values, std::uint16_t* out) {
#if defined(__F16C__)
  float floats[kPanelColumns];
  std::memcpy(floats, &values, sizeof floats);
  for (int i = 0; i < kPanelColumns; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(floats + i), _MM_FROUND_TO_NEAREST_INT));
  }
#else
  for (int i = 0; i < kPanelColumns; ++i) out[i] = nvfp4::float_to_fp16(values[i]);
#endif
}

// The same rounding as nvfp4::float_to_bf16, 16 at a time.
inline void round_to_bf16(const Columns& values, std::uint16_t* out) {
  BitColumns bits;
  std::memcpy(&bits, &values, sizeof bits);
  const BitColumns rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const BitColumns quiet_nan = (bits >> 16 & 0x8000u) | nvfp4::kBf16QuietNan;
  const BitColumns is_nan = reinterpret_cast<BitColumns>((bits & 0x7fffffffu) > 0x7f800000u);
  const BitColumns chosen = (is_nan & quiet_nan) | (~is_nan & rounded);
  const HalfColumns halves = __builtin_convertvector(chosen, HalfColumns);
  std::memcpy(out, &halves, sizeof halves);
}

template <Output output>
inline void round_panel(const Columns& values, typename Stored<output>::Type* out) {
  if constexpr (output == Output::kFp32) {
    std::memcpy(out, &values, sizeof values);
  } else if constexpr (output == Output::kFp16) {
    round_to_fp16(values, out);
  } else {
    round_to_bf16(values, out);
  }
}

// Non-temporal stores need 32-byte alignment; a row that has none is stored plainly.
inline void store_row(const void* from, void* to, std::size_t bytes, bool streaming) {
#if defined(__AVX2__)
  if (streaming && reinterpret_cast<std::uintptr_t>(to) % 32 == 0 && bytes % 32 == 0) {
    for (std::size_t i = 0; i < bytes; i += 32) {
      const __m256i chunk =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(static_cast<const char*>(from) + i));
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
      Columns product;
      apply(args.factor, args.sums + row * kSumColumns + first, product);
      round_panel<output>(product, rounded + first);
    }
    store(row, rounded);
  }
  end_streaming(args.streaming);
}

template <Output output>
void finish_dual(const FinishArgs& args) {
  const RowStore<output> store{args};
  for (int row = 0; row < args.row_count; ++row) {
    const float* sums = args.sums + row * kSumColumns;
    alignas(64) typename Stored<output>::Type rounded[kPanelColumns];
    Columns gate, gated, up;
    apply(args.factor, sums, gate);
    apply(args.factor_up, sums + kPanelColumns, up);
    silu(gate, gated);
    round_panel<output>(gated * up, rounded);
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
      const std::size_t count =
          static_cast<std::size_t>(left < kPanelColumns ? left : kPanelColumns);
      Columns gate = {}, gated, up;
      std::memcpy(&gate, args.gate + row * args.gate_stride_elements + first,
                  count * sizeof(float));
      apply(args.factor_up, args.sums + row * kSumColumns + first, up);
      silu(gate, gated);
      round_panel<output>(gated * up, rounded + first);
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
