// SPDX-License-Identifier: Apache-2.0
// How much work the kernel of ceilings.cuh does.
#pragma once

#include "gpu/gemm/kernels/ceilings_args.hpp"

namespace thresher::gpu::sm80 {

inline constexpr int kMultiplyOctets = 8;  // MMAs that do not wait for each other
inline constexpr int kMultiplySteps = 16;
// Of a block and pass; a multiply-add is two.
inline constexpr u64 kMultiplyOperations =
    u64{2} * 16 * 8 * 16 * kMultiplyOctets * kMultiplySteps * (kMultiplyThreads / hw::kWarpThreads);

}  // namespace thresher::gpu::sm80
