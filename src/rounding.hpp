// SPDX-License-Identifier: Apache-2.0
// Rounding up, on the host and in kernels alike.
#pragma once

#ifdef __CUDACC_RTC__
#define THRESHER_EVERYWHERE __device__ __forceinline__
#else
#define THRESHER_EVERYWHERE inline
#endif

namespace thresher {

template <typename Value, typename Unit>
THRESHER_EVERYWHERE constexpr auto divide_up(Value value, Unit unit) {
  return (value + unit - 1) / unit;
}

template <typename Value, typename Unit>
THRESHER_EVERYWHERE constexpr auto round_up(Value value, Unit unit) {
  return divide_up(value, unit) * unit;
}

}  // namespace thresher
