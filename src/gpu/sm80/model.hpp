// SPDX-License-Identifier: Apache-2.0
// What tiles of the warps' kernel should take. Fitted to what they took on an H200; no other GPU
// has run them.
#pragma once

#include "gpu/gemm/model.hpp"

namespace thresher::gpu::sm80 {

const TileTimes& tile_times();

}  // namespace thresher::gpu::sm80
