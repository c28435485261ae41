// SPDX-License-Identifier: Apache-2.0
// Where a variant's time goes on the CPU, measured with the engine's public calls: the whole
// problem, the same problem with next to no k (what is left is the call, packing and the epilogue),
// and the whole problem on one thread. A research round reports it; the Theorist starts from its
// times. cli/gpu_profile.hpp does the same on a GPU.
#pragma once

#include <string>
#include <vector>

#include "gemm/speed_of_light.hpp"
#include "gemm/suite.hpp"

namespace thresher {

struct ProblemProfile {
  std::string problem;
  double us = 0;        // median call, caches as the call before left them
  double short_us = 0;  // with k cut to kShortElements
  double one_thread_us = 0;
  SpeedOfLight light;
};

inline constexpr std::int64_t kShortElements = 64;
Problem with_short_k(Problem problem);

// Takes about `seconds_per_problem` for each. Throws Error if the variant cannot run the suite.
std::vector<ProblemProfile> profile(const Suite& suite, const std::string& variant,
                                    int thread_count, const MachineRates& rates,
                                    double seconds_per_problem = 0.2);

// One sentence with its numbers.
std::string finding(const ProblemProfile& profile, int thread_count);

// "g8: 120 us, 63 % of the speed of light (memory 30 us, arithmetic 76 us: arithmetic decides)"
std::string light_finding(const std::string& problem, double us, const SpeedOfLight& light);

}  // namespace thresher
