// SPDX-License-Identifier: Apache-2.0
// How many copies of its weights a contestant rotates so that no call finds them in a cache.
#pragma once

#include <cstddef>

namespace thresher::measure {

// On the CPU: at least one. Together the copies are larger than 256 MiB and than eight times the
// last cache, unless a copy has less than 32 KiB: then 4096 of them must do. So small a problem
// measures the cost of a call, and a million tiny allocations would not make it a better
// measurement.
std::size_t cold_copy_count(std::size_t weight_bytes);

}  // namespace thresher::measure
