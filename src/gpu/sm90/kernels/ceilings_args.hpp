// SPDX-License-Identifier: Apache-2.0
// How much work the kernel of ceilings.cuh does.
#pragma once

#include "gpu/gemm/kernels/ceilings_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"

namespace thresher::gpu::sm90 {

// Warpgroups multiply 64 rows each by the same 256 columns, over and over the same k, as far as
// shared memory holds it.
inline constexpr int kMultiplyRows = kMultiplyWarpgroups * kSubTileRows;
inline constexpr int kMultiplyColumns = 256;
inline constexpr int kMultiplyTiles = 4;  // of 64 k
inline constexpr u32 kMultiplyTileBytes = (kMultiplyRows + kMultiplyColumns) * kImageRowBytes;
inline constexpr u32 kMultiplySharedBytes = kMultiplyTiles * kMultiplyTileBytes;
// Of a block and pass; a multiply-add is two.
inline constexpr u64 kMultiplyOperations =
    u64{2} * kMultiplyRows * kMultiplyColumns * kMultiplyTiles * kTileK;

}  // namespace thresher::gpu::sm90
