// SPDX-License-Identifier: Apache-2.0
// Which settings of the knobs Blackwell's kernel (kernels/gemm.cuh) has, which of them can run a
// problem, and why not.
#pragma once

#include <string>

#include "gpu/gemm/gemm_plan.hpp"

namespace thresher::gpu::sm100 {

constexpr GemmKnobs default_knobs() { return gpu::default_knobs(Mma::kBlockScaled); }

// Empty: they can. `knobs.mma` is kBlockScaled.
std::string why_not(const GemmKnobs& knobs, const PlanRequest& request);

}  // namespace thresher::gpu::sm100
