// SPDX-License-Identifier: Apache-2.0
// Which settings of the knobs Blackwell's kernel (kernels/gemm.cuh) has, which of them can run a
// problem, and why not.
#pragma once

#include <string>

#include "gpu/sm90/gemm_plan.hpp"

namespace thresher::gpu::sm100 {

using sm90::GemmKnobs;
using sm90::PlanRequest;

constexpr GemmKnobs default_knobs() { return sm90::default_knobs(sm90::Mma::kBlockScaled); }

// Empty: they can. `knobs.mma` is kBlockScaled.
std::string why_not(const GemmKnobs& knobs, const PlanRequest& request);

}  // namespace thresher::gpu::sm100
