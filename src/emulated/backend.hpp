// SPDX-License-Identifier: Apache-2.0
// The emulator's row in the table of backends: the GPU's plans, packing and kernels, on the CPU.
//
// Launches follow one another, whatever the variant says of streams and graphs. As on a GPU, nobody
// looks for NaN among the activations' scales: they make NaNs of the results.
#pragma once

#include "backend/backend.hpp"

namespace thresher::emulated {

const Backend& emulated_backend();

}  // namespace thresher::emulated
