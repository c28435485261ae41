// SPDX-License-Identifier: Apache-2.0
// What tiles take, fitted to times on an H200: the numbers that the choice, the model of time
// (model.hpp) and, inside the kernels, a balanced schedule count with.
#pragma once

#include "gpu/hw/types.hpp"

namespace thresher::gpu::sm90 {

// A k tile of 256 rows, in nanoseconds: loading and decoding its weights, whatever the width, and
// its MMAs.
inline constexpr double kDecodeNs = 250;
inline constexpr double kEightColumnsNs = 24;

// The same in whole units of 8 columns, with what finishing a tile takes: kernels divide the work
// of a balanced schedule in them.
inline constexpr u32 kDecodeCost = static_cast<u32>(kDecodeNs / kEightColumnsNs);
inline constexpr u32 kFinishCost = 80;
THRESHER_DEVICE constexpr u32 k_tile_cost(u32 width) { return width / 8 + kDecodeCost; }

}  // namespace thresher::gpu::sm90
