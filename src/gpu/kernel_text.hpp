// SPDX-License-Identifier: Apache-2.0
// The few lines that NVRTC compiles for a launch: an entry point that instantiates one kernel
// template with one config. Everything else comes through its #include (kernel_source.hpp).
#pragma once

#include <string>

#include "gpu/kernels/gemm_plan.hpp"

namespace thresher::gpu {

inline constexpr const char* kEntryName = "entry";

std::string kernel_text(const ImageConfig& config);
// The baseline or the pipelined kernel, bounded to the launch's threads and blocks per SM.
std::string kernel_text(const GemmLaunch& launch);

}  // namespace thresher::gpu
