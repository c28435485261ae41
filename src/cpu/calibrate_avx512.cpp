// SPDX-License-Identifier: Apache-2.0
// Calibration loops with 512-bit vectors.
#if defined(__x86_64__)

#include <immintrin.h>

#include "cpu/calibrate_chains.hpp"
#include "cpu/calibrate_loops.hpp"

namespace thresher::cpu {
namespace {

template <int kStreamCount>
void read_streams(const ReadArgs& args) {
  __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                     _mm512_setzero_si512()};
  for (std::int64_t offset = 0; offset < args.stream_bytes; offset += kReadStepBytes) {
#pragma GCC unroll 8
    for (int stream = 0; stream < kStreamCount; ++stream) {
      const std::uint8_t* step = args.data + stream * args.stream_bytes + offset;
#pragma GCC unroll 4
      for (int i = 0; i < kReadStepBytes / 64; ++i) {
        sums[i] = _mm512_xor_si512(sums[i], _mm512_load_si512(step + 64 * i));
      }
    }
  }
  for (__m512i& sum : sums) use(sum);
}

void fma(std::int64_t iteration_count) {
  __m512 half = _mm512_set1_ps(0.5f);
  hide(half);
  run_chains(half, iteration_count, [&](__m512 sum) { return _mm512_fmadd_ps(sum, half, half); });
}

void multiply_add(std::int64_t iteration_count) {
  __m512i ones = _mm512_set1_epi8(1);
  hide(ones);
  run_chains(ones, iteration_count, [&](__m512i sum) { return _mm512_maddubs_epi16(sum, ones); });
}

}  // namespace

void read_avx512(const ReadArgs& args) {
  with_stream_count(args, [&](auto count) { read_streams<count>(args); });
}

ComputeLoop fma_loop_avx512() {
  return {.run = fma, .operations_per_iteration = kChainCount * 16 * 2.0};
}

ComputeLoop multiply_add_loop_avx512() {
  return {.run = multiply_add, .operations_per_iteration = kChainCount * 64 * 2.0};
}

}  // namespace thresher::cpu

#endif
