// SPDX-License-Identifier: Apache-2.0
// How much work the kernel of ceilings.cuh does.
#pragma once

#include "gpu/gemm/kernels/ceilings_args.hpp"
#include "gpu/sm100/kernels/tensor_layout.hpp"

namespace thresher::gpu::sm100 {

inline constexpr u32 kMultiplyColumns = 256;
// Of a block and pass; a multiply-add is two.
inline constexpr u64 kMultiplyOperations = u64{2} * kTileRows * kMultiplyColumns * kTileK;

// A tile of rows and one of columns, each codes and then scales, as offsets from the base of shared
// memory.
inline constexpr u32 kMultiplyRowScales = kTileCodeBytes;
inline constexpr u32 kMultiplyColumnCodes = kTileBytes + 1024 - kTileBytes % 1024;
inline constexpr u32 kMultiplyColumnScales =
    kMultiplyColumnCodes + kMultiplyColumns * kCodeRowBytes;
inline constexpr u32 kMultiplyBarrier =
    kMultiplyColumnScales + kMultiplyColumns / kTileRows * kTileScaleBytes;
inline constexpr u32 kMultiplySlot = kMultiplyBarrier + 8;
inline constexpr u32 kMultiplySharedBytes = kMultiplySlot + 8;

}  // namespace thresher::gpu::sm100
