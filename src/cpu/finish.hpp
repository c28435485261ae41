// SPDX-License-Identifier: Apache-2.0
// The end of a tile: factors, SiLU and product in FP32, one rounding to the output type, the store.
//
// Written over the 16 columns of a panel for whatever instruction set the including body is
// compiled for. No step is contracted or reassociated by the compiler, so all bodies agree bit for
// bit.
#pragma once

#include <cmath>
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

// a * b + c, rounded once. Spelt out: of the loop below GCC makes scalar code in some places.
inline void fuse(const Columns& a, const Columns& b, const Columns& c, Columns& out) {
#if defined(__AVX512F__)
  out = reinterpret_cast<Columns>(_mm512_fmadd_ps(
      reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__FMA__)
  float sums[kPanelColumns];
  for (int i = 0; i < kPanelColumns; i += 8) {
    const auto load = [i](const Columns& columns) {
      return _mm256_loadu_ps(reinterpret_cast<const float*>(&columns) + i);
    };
    _mm256_storeu_ps(sums + i, _mm256_fmadd_ps(load(a), load(b), load(c)));
  }
  std::memcpy(&out, sums, sizeof out);
#else
  for (int i = 0; i < kPanelColumns; ++i) out[i] = std::fma(a[i], b[i], c[i]);
#endif
}
inline void fuse(const Columns& a, const Columns& b, float c, Columns& out) {
  fuse(a, b, Columns{} + c, out);
}
inline void fuse(const Columns& a, float b, const Columns& c, Columns& out) {
  fuse(a, Columns{} + b, c, out);
}
inline void fuse(const Columns& a, float b, float c, Columns& out) {
  fuse(a, Columns{} + b, Columns{} + c, out);
}

// exp(-x) for x >= 0, within 2 ulp; below 2^-126 it is 0. Cody-Waite reduction, then the polynomial
// of degree 5 that is 1 at 0 and nearest to it on |r| <= ln(2)/2: 2^-23.3 off at most.
inline void exp_negative(const Columns& x, Columns& out) {
  constexpr float kFlushAbove = 87.3f;
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693147182f;
  constexpr float kLn2Low = -1.90465421e-9f;
  constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  Columns shifted;
  fuse(x, -kLog2E, kRoundMagic, shifted);
  const Columns n = shifted - kRoundMagic;
  Columns r;
  fuse(n, -kLn2High, -x, r);
  fuse(n, -kLn2Low, r, r);
  Columns p;
  fuse(r, 0.00829029009f, 0.0418980622f, p);
  fuse(p, r, 0.166676373f, p);
  fuse(p, r, 0.499991486f, p);
  fuse(p, r, 0.999999707f, p);
  fuse(p, r, 1.0f, p);
  // Times 2^n: the lowest bits of `shifted` are those of n. Where it counts, the exponent stays
  // that of a normal number.
  const BitColumns scaled =
      reinterpret_cast<BitColumns>(p) + (reinterpret_cast<BitColumns>(shifted) << 23);
  out = x < kFlushAbove ? reinterpret_cast<Columns>(scaled) : Columns{};
}

// 1 / d for d from 1 to 2, within 1 ulp: a parabola, and two steps of Newton's. The same
// everywhere, which a GPU's own reciprocal is not.
inline void reciprocal(const Columns& d, Columns& r) {
  fuse(d, 0.323232323f, -1.45454545f, r);
  fuse(r, d, 2.12121212f, r);
  for (int step = 0; step < 2; ++step) {
    Columns error;
    fuse(-d, r, 1.0f, error);
    fuse(r, error, r, r);
  }
}

// g / (1 + exp(-g)) through exp(-|g|), which cannot overflow.
inline void silu(const Columns& g, Columns& out) {
  const Columns one = Columns{} + 1.0f;
  Columns t;
  exp_negative(g < 0.0f ? -g : g, t);
  Columns r;
  reciprocal(one + t, r);
  out = g * ((g < 0.0f ? t : one) * r);
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
