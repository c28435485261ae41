// SPDX-License-Identifier: Apache-2.0
// What tiles of Blackwell's kernel should take, reckoned from published numbers of a B200
// (docs/blackwell.md has their sources), and fitted to no measurement: never run on a Blackwell.
#pragma once

#include "gpu/gemm/model.hpp"

namespace thresher::gpu::sm100 {

// A B200: 148 SMs, which together reach so many NVFP4 operations, and bytes from the L2.
inline constexpr double kGopPerS = 5797000;
inline constexpr double kSms = 148;
inline constexpr double kL2BytesPerNs = 10000;
// While it multiplies, an MMA reads both operands from shared memory, which for narrow ones takes
// longer: A's rows as long as so many columns, and every column of B half as long as itself.
inline constexpr double kColumnsToReadA = 64;
// Barriers, copies of scales and commits of 64 k.
inline constexpr double kOverheadNs = 15;

const TileTimes& tile_times();

}  // namespace thresher::gpu::sm100
