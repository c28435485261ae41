// SPDX-License-Identifier: Apache-2.0
// Measures what this machine can do: the ceilings that a speed of light is made of.
#pragma once

#include "cpu/features.hpp"
#include "gemm/speed_of_light.hpp"

namespace thresher::cpu {

struct Ceilings {
  int thread_count = 0;
  double read_gb_per_s = 0;      // DRAM read, best pattern found
  double integer_gop_per_s = 0;  // 8-bit multiply-adds of the best body here, 2 operations each
  double fma_gflop_per_s = 0;    // FP32 fused multiply-adds, 2 operations each
  double noise = 0;  // median absolute deviation over median of a fixed spin, as a ratio
};

// About `seconds` in all; the best of several short trials per ceiling, threads pinned to nothing.
Ceilings measure_ceilings(Isa isa, int thread_count, double seconds);

// What was measured with `isa`, as the rates of a machine.
MachineRates machine_rates(Isa isa, const Ceilings& ceilings);

}  // namespace thresher::cpu
