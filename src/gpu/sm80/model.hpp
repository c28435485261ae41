// SPDX-License-Identifier: Apache-2.0
// What tiles of the warps' kernel should take. Reckoned from what an A100's SM can do per cycle,
// and fitted to no measurement: nobody has run the kernel yet.
#pragma once

#include "gpu/sm90/model.hpp"

namespace thresher::gpu::sm80 {

const sm90::TileTimes& tile_times();

}  // namespace thresher::gpu::sm80
