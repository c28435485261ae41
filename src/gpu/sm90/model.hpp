// SPDX-License-Identifier: Apache-2.0
// What tiles of Hopper's kernels take, fitted to what they took on an H200.
#pragma once

#include "gpu/gemm/model.hpp"

namespace thresher::gpu::sm90 {

const TileTimes& tile_times();

}  // namespace thresher::gpu::sm90
