// SPDX-License-Identifier: Apache-2.0
// How a CUDA source is launched: it has no host code, so its pitch says which kernels run, over
// what grid, and how much memory they want. A description is text, as it stands in the pitch;
// expressions are those of cuda_expression.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/runtime/module.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// One to three expressions for grid, block and cluster; what is missing is 1.
struct CudaLaunch {
  std::string kernel;
  std::vector<std::string> grid;
  std::vector<std::string> block;
  std::vector<std::string> cluster;
  std::string shared_bytes = "0";  // dynamic

  bool operator==(const CudaLaunch&) const = default;
};

struct CudaLaunches {
  std::vector<CudaLaunch> launches;  // of every call, in order
  std::vector<CudaLaunch> prepare;   // once per problem, to repack weights
  std::string packed_bytes = "0";    // what prepare launches write to
  std::string workspace_bytes = "0";

  bool operator==(const CudaLaunches&) const = default;
};

// Throws Error naming the launch, the field and what is allowed.
void check(const CudaLaunches& launches);

// One line of JSON, for work orders and hashes.
std::string to_text(const CudaLaunches& launches);
// Throws Error when `text` is not what to_text wrote.
CudaLaunches cuda_launches_from_text(std::string_view text);

namespace referee {

struct PlannedLaunch {
  std::string kernel;
  gpu::LaunchShape shape;
};

// A description with the numbers of a problem and a device.
struct CudaLaunchPlan {
  std::vector<PlannedLaunch> launches;  // those with an empty grid are left out
  std::vector<PlannedLaunch> prepare;
  std::int64_t packed_bytes = 0;
  std::int64_t workspace_bytes = 0;
};

// Throws Error naming the launch, the value and the limit.
CudaLaunchPlan plan_launches(const CudaLaunches& launches, const Problem& problem, int sm_count);

}  // namespace referee
}  // namespace thresher
