// SPDX-License-Identifier: Apache-2.0
// The CPU's row in the table of backends.
#pragma once

#include "backend/backend.hpp"

namespace thresher::cpu {

const Backend& cpu_backend();

}  // namespace thresher::cpu
