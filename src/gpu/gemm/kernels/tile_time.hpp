// SPDX-License-Identifier: Apache-2.0
// What tiles of Hopper's kernels take, fitted to times on an H200: the numbers that its choice and
// its model of time (gpu/sm90/model.hpp) count with and, inside the kernels of all architectures, a
// balanced schedule.
#pragma once

#include "gpu/hw/types.hpp"

namespace thresher::gpu {

// A k tile of 256 rows, in nanoseconds: loading and decoding its weights, whatever the width, and
// its MMAs. 192 rows were fitted apart from the others: they lie between them, nearer to 256 than
// their share.
inline constexpr double kDecodeNs = 250;
inline constexpr double kEightColumnsNs = 24;
inline constexpr double kDecodeNsOf192 = 220;
inline constexpr double kEightColumnsNsOf192 = 19.2;

// The same in whole units of 8 columns, with what finishing a tile takes: kernels divide the work
// of a balanced schedule in them. 128 rows are divided like 256.
inline constexpr u32 kDecodeCost = static_cast<u32>(kDecodeNs / kEightColumnsNs);
inline constexpr u32 kDecodeCostOf192 = static_cast<u32>(kDecodeNsOf192 / kEightColumnsNsOf192);
inline constexpr u32 kFinishCost = 80;
THRESHER_DEVICE constexpr u32 k_tile_cost(int rows, u32 width) {
  return width / 8 + (rows == 192 ? kDecodeCostOf192 : kDecodeCost);
}

}  // namespace thresher::gpu
