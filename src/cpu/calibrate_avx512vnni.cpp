// SPDX-License-Identifier: Apache-2.0
// The byte multiply-add that accumulates by itself: vpdpbusd, 64 multiply-adds per instruction.
#if defined(__x86_64__)

#include <immintrin.h>

#include "cpu/calibrate_chains.hpp"
#include "cpu/calibrate_loops.hpp"

namespace thresher::cpu {
namespace {

void multiply_add(std::int64_t iteration_count) {
  __m512i ones = _mm512_set1_epi8(1);
  hide(ones);
  run_chains(ones, iteration_count,
             [&](__m512i sum) { return _mm512_dpbusd_epi32(sum, ones, ones); });
}

}  // namespace

ComputeLoop multiply_add_loop_avx512vnni() {
  return {.run = multiply_add, .operations_per_iteration = kChainCount * 64 * 2.0};
}

}  // namespace thresher::cpu

#endif
