// SPDX-License-Identifier: Apache-2.0
// Where a variant's time goes on a GPU, by the device's own clock: the whole problem, the same
// problem with next to no k (what is left is launches, the prologue and the epilogue), and with
// next to no tokens (what is left is reading and decoding the weights).
#pragma once

#include <string>
#include <vector>

#include "gemm/speed_of_light.hpp"
#include "gemm/suite.hpp"
#include "thresher/gpu.hpp"

namespace thresher::cli {

struct GpuProfile {
  std::string problem;
  double us = 0;        // median call, caches as the call before left them
  double short_us = 0;  // with k cut to kShortElements (tank/season/time_profile.hpp)
  double thin_us = 0;   // with m cut to kThinTokens
  std::int64_t kernel_count = 0;
  SpeedOfLight light;
};

inline constexpr std::int64_t kThinTokens = 8;

// Takes about `seconds_per_problem` for each, and compiles what is not in the engine's cache.
// Throws Error if the variant cannot run the suite.
std::vector<GpuProfile> gpu_profile(const GpuEngine& engine, const Suite& suite,
                                    const std::string& variant, const MachineRates& rates,
                                    double seconds_per_problem = 0.2);

// One sentence with its numbers.
std::string finding(const GpuProfile& profile);

}  // namespace thresher::cli
