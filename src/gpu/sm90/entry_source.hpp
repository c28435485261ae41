// SPDX-License-Identifier: Apache-2.0
// The few lines of CUDA that make a kernel of a config: what the run-time compiler is given. The
// files they include travel in the binary (gpu/runtime/kernel_source.hpp).
#pragma once

#include <string>

#include "gpu/sm90/gemm_plan.hpp"
#include "gpu/sm90/kernels/layer_args.hpp"

namespace thresher::gpu::sm90 {

// The name of the kernel in every such source; it takes one ImageArgs, GemmArgs or
// LayerArgs.
inline constexpr const char* kEntryName = "entry";

std::string entry_source(const ImageLaunch& launch);
std::string entry_source(const GemmLaunch& launch);
std::string entry_source(const LayerConfig& config);

}  // namespace thresher::gpu::sm90
