// SPDX-License-Identifier: Apache-2.0
// Independent chains of one instruction, kept in registers; streams, unrolled. Included only by the
// calibrate_*.cpp files that are compiled for an instruction set; everything has internal linkage
// so that no other file can link to it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/calibrate_loops.hpp"
#include "hide.hpp"

namespace thresher::cpu {
namespace {

// The slowest machine here needs 5 cycles of latency x 2 per cycle = 10 chains; 12 chains and their
// operands fit 16 registers.
constexpr int kChainCount = 12;

template <typename Vector, typename Step>
void run_chains(Vector start, std::int64_t iteration_count, Step step) {
  Vector chains[kChainCount];
#pragma GCC unroll 12
  for (int c = 0; c < kChainCount; ++c) chains[c] = start;
  for (std::int64_t i = 0; i < iteration_count; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChainCount; ++c) {
      Vector next = step(chains[c]);
      use(next);  // or chains would be merged and work hoisted
      chains[c] = next;
    }
  }
}

// The number of streams is a constant in their loop.
template <typename Read>
void with_stream_count(const ReadArgs& args, Read read) {
  switch (args.stream_count) {
    case 1:
      return read(std::integral_constant<int, 1>());
    case 2:
      return read(std::integral_constant<int, 2>());
    case 4:
      return read(std::integral_constant<int, 4>());
    default:
      return read(std::integral_constant<int, 8>());
  }
}

}  // namespace
}  // namespace thresher::cpu
