// SPDX-License-Identifier: Apache-2.0
// The variants of all GPUs together, whatever runs them: which kernels are for which of them, and
// what a row of the table of backends says of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.hpp"
#include "gpu/gemm/variant.hpp"

namespace thresher::gpu {

// Hopper has kernels of its own, and Blackwell (sm_100) where activations are NVFP4; every other
// GPU since Ampere runs those for warps.
inline constexpr int kComputeCapabilityMin = 80;
bool is_hopper(const SmLimits& limits);
bool is_blackwell(const SmLimits& limits);
// What the engine's choice multiplies NVFP4 with on such a device.
Mma mma_for(const SmLimits& limits);
// Empty, or why a variant is not for such a device at all.
std::string why_not_here(std::string_view variant, const SmLimits& limits);

// Whether `variant` can run `problem` on such a device, and why not.
Support supports(const Variant& variant, const Problem& problem, const SmLimits& limits);

// Throws Error if so many tokens are too many for the variant.
GemmPlan plan_of(const Variant& variant, const Problem& problem, std::int64_t tokens_max,
                 const SmLimits& limits);

// Without a name and a device. The variants that multiply like `first` come first.
Backend variants_row(Mma first);

}  // namespace thresher::gpu
