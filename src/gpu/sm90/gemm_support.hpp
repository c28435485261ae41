// SPDX-License-Identifier: Apache-2.0
// Which settings of the knobs Hopper's kernels (kernels/gemm.cuh, kernels/plain_gemm.cuh) have,
// which of them can run a problem, and why not.
#pragma once

#include <string>

#include "gpu/gemm/gemm_plan.hpp"

namespace thresher::gpu::sm90 {

// Empty: they can. `knobs.mma` is kWarpgroup.
std::string why_not(const GemmKnobs& knobs, const PlanRequest& request);

}  // namespace thresher::gpu::sm90
