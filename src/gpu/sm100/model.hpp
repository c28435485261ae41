// SPDX-License-Identifier: Apache-2.0
// What tiles of Blackwell's kernel should take, reckoned from published numbers of a B200
// (docs/blackwell.md has their sources), and fitted to no measurement: never run on a Blackwell.
#pragma once

#include "gpu/sm90/model.hpp"

namespace thresher::gpu::sm100 {

const sm90::TileTimes& tile_times();

}  // namespace thresher::gpu::sm100
