// SPDX-License-Identifier: Apache-2.0
// Tensor maps as the driver makes them.
#pragma once

#include "gpu/hw/sm90/tensor_map.hpp"
#include "gpu/runtime/driver.hpp"

namespace thresher::gpu {

// Throws Error where the driver has no such maps or refuses the fields.
hw::TensorMap encode(const Driver& driver, const hw::TensorMapFields& fields);

}  // namespace thresher::gpu
