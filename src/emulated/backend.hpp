// SPDX-License-Identifier: Apache-2.0
// The emulator's row in the table of backends: the GPU's plans, packing and kernels, on the CPU.
//
// Launches follow one another, whatever the variant says of streams and graphs. As on a GPU, nobody
// looks for NaN among the activations' scales: they make NaNs of the results.
#pragma once

#include "backend/backend.hpp"
#include "emulated/timeline.hpp"

namespace thresher::emulated {

const Backend& emulated_backend();

// The stream of such a device, for kernels of others that come between its calls.
Timeline& timeline_of(const backend::Device& device);

}  // namespace thresher::emulated
