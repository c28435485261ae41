// SPDX-License-Identifier: Apache-2.0
// The loops that calibrate.cpp times, one set per instruction set. Each set lives in the file that
// is compiled for its instruction set and may only be called where can_run() says so.
#pragma once

#include <cstdint>

namespace thresher::cpu {

// A stream is one sequential walk; a loop takes one kReadStepBytes step on each stream in turn.
inline constexpr std::int64_t kReadStepBytes = 256;

struct ReadArgs {
  const std::uint8_t* data = nullptr;  // aligned to 64 bytes
  std::int64_t stream_bytes = 0;  // a multiple of kReadStepBytes; streams lie one after another
  int stream_count = 0;           // 1, 2, 4 or 8
};

using ReadFunction = void (*)(const ReadArgs& args);

// Independent chains of one instruction, enough of them to hide its latency.
struct ComputeLoop {
  void (*run)(std::int64_t iteration_count) = nullptr;
  double operations_per_iteration = 0;  // 2 per multiply-add
};

#if defined(__x86_64__)
void read_avx2(const ReadArgs& args);
ComputeLoop fma_loop_avx2();
ComputeLoop multiply_add_loop_avx2();  // vpmaddubsw

void read_avx512(const ReadArgs& args);
ComputeLoop fma_loop_avx512();
ComputeLoop multiply_add_loop_avx512();  // vpmaddubsw

ComputeLoop multiply_add_loop_avx512vnni();  // vpdpbusd
ComputeLoop multiply_add_loop_amx();         // tdpbf16ps
#endif

}  // namespace thresher::cpu
