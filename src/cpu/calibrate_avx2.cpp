// SPDX-License-Identifier: Apache-2.0
// Calibration loops with 256-bit vectors.
#if defined(__x86_64__)

#include <immintrin.h>

#include "cpu/calibrate_chains.hpp"
#include "cpu/calibrate_loops.hpp"

namespace thresher::cpu {
namespace {

template <int kStreamCount>
void read_streams(const ReadArgs& args) {
  __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                     _mm256_setzero_si256()};
  for (std::int64_t offset = 0; offset < args.stream_bytes; offset += kReadStepBytes) {
#pragma GCC unroll 8
    for (int stream = 0; stream < kStreamCount; ++stream) {
      const std::uint8_t* step = args.data + stream * args.stream_bytes + offset;
#pragma GCC unroll 8
      for (int i = 0; i < kReadStepBytes / 32; ++i) {
        const __m256i value = _mm256_load_si256(reinterpret_cast<const __m256i*>(step + 32 * i));
        sums[i % 4] = _mm256_xor_si256(sums[i % 4], value);
      }
    }
  }
  for (__m256i& sum : sums) use(sum);
}

void fma(std::int64_t iteration_count) {
  __m256 half = _mm256_set1_ps(0.5f);
  hide(half);
  run_chains(half, iteration_count, [&](__m256 sum) { return _mm256_fmadd_ps(sum, half, half); });
}

void multiply_add(std::int64_t iteration_count) {
  __m256i ones = _mm256_set1_epi8(1);
  hide(ones);
  run_chains(ones, iteration_count, [&](__m256i sum) { return _mm256_maddubs_epi16(sum, ones); });
}

}  // namespace

void read_avx2(const ReadArgs& args) {
  with_stream_count(args, [&](auto count) { read_streams<count>(args); });
}

ComputeLoop fma_loop_avx2() {
  return {.run = fma, .operations_per_iteration = kChainCount * 8 * 2.0};
}

ComputeLoop multiply_add_loop_avx2() {
  return {.run = multiply_add, .operations_per_iteration = kChainCount * 32 * 2.0};
}

}  // namespace thresher::cpu

#endif
