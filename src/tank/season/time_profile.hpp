// SPDX-License-Identifier: Apache-2.0
// Where a variant's time goes on a device: the whole problem; the same with next to no k (what is
// left is the call, packing or the prologue, and the epilogue); with next to no tokens (what is
// left is reading and decoding the weights); and on the CPU on one thread. A research round reports
// it; the Theorist starts from its times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm/speed_of_light.hpp"
#include "gemm/suite.hpp"
#include "thresher/engine.hpp"

namespace thresher {

struct ProblemProfile {
  std::string problem;
  double us = 0;        // median call, caches as the call before left them
  double short_us = 0;  // with k cut to kShortElements
  double thin_us = 0;   // with m cut to kThinTokens
  int thread_count = 1;
  double one_thread_us = 0;  // where there are several
  std::int64_t kernel_count = 0;
  SpeedOfLight light;
};

inline constexpr std::int64_t kShortElements = 64;
inline constexpr std::int64_t kThinTokens = 8;

// Takes about `seconds_per_problem` for each. Throws Error if the variant cannot run the suite.
std::vector<ProblemProfile> profile(const Engine& engine, const Suite& suite,
                                    const std::string& variant, const MachineRates& rates,
                                    double seconds_per_problem = 0.2);

// One sentence with its numbers.
std::string finding(const ProblemProfile& profile);

}  // namespace thresher
