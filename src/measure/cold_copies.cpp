// SPDX-License-Identifier: Apache-2.0
#include "measure/cold_copies.hpp"

#include <algorithm>

#include "cpu/features.hpp"

namespace thresher::measure {
namespace {

constexpr std::size_t kColdBytesMin = std::size_t{256} << 20;
constexpr std::size_t kCopyCountMax = 4096;

}  // namespace

std::size_t cold_copy_count(std::size_t weight_bytes) {
  if (weight_bytes == 0) return 1;
  const auto l3_bytes = static_cast<std::size_t>(cpu::caches().l3_bytes);
  const std::size_t cold_bytes = std::max(kColdBytesMin, 8 * l3_bytes);
  return std::min(kCopyCountMax, cold_bytes / weight_bytes + 1);
}

}  // namespace thresher::measure
