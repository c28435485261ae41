// SPDX-License-Identifier: Apache-2.0
// What a row of the table of backends says of Hopper's variants, on a GPU and in the emulator.
#pragma once

#include "backend/backend.hpp"

namespace thresher::gpu::sm90 {

// Without a name and a device.
Backend variants_row();

}  // namespace thresher::gpu::sm90
