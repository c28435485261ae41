// SPDX-License-Identifier: Apache-2.0
// The speed of light: the floor under any time for a problem on a machine whose ceilings are known.
//
// floor = max(fewest bytes / read bandwidth, operations / rate). It knows no kernel: padding,
// decode, the second read of anything and the cost of a call are the kernel's to explain.
#pragma once

#include "thresher/problem.hpp"

namespace thresher {

// What a machine can do, as plain numbers, so that this file depends on no backend.
struct MachineRates {
  double read_gb_per_s = 0;
  // Operations per second, 2 per multiply-add, of the fastest instruction that multiplies operands
  // of each kind exactly.
  double nvfp4_gop_per_s = 0;
  double fp16_gop_per_s = 0;
  double bf16_gop_per_s = 0;
};

// 4-bit codes and one scale byte per 16 of them.
inline constexpr double kNvfp4BytesPerElement = 0.5625;

// Weights of every group that has rows, once; for dual both matrices.
double weight_bytes(const Problem& problem);

// Weights, activations and outputs, each once. A group without rows moves nothing.
double fewest_bytes(const Problem& problem);

struct SpeedOfLight {
  double memory_us = 0;
  double compute_us = 0;

  double floor_us() const { return memory_us > compute_us ? memory_us : compute_us; }
};

SpeedOfLight speed_of_light(const Problem& problem, const MachineRates& rates);
// Of bytes and operations that somebody else has counted.
SpeedOfLight speed_of_light(double bytes, double operations, Activations activations,
                            const MachineRates& rates);

}  // namespace thresher
