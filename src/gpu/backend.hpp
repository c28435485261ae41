// SPDX-License-Identifier: Apache-2.0
// The GPU's row in the table of backends: an architecture's kernels for the device at hand.
#pragma once

#include "backend/backend.hpp"

namespace thresher::gpu {

const Backend& gpu_backend();

}  // namespace thresher::gpu
