// SPDX-License-Identifier: Apache-2.0
// A factor as a product of two floats, the same bytes on the host and in kernels: one too small for
// a single float keeps its precision, any other has `rest` = 1 and rounds as if there were no such
// thing.
#pragma once

namespace thresher {

struct Factor {
  float main = 1.0f;
  float rest = 1.0f;
};

#ifndef __CUDACC_RTC__
// A factor near or below the smallest normal float would lose bits; 2^100 of it goes into `rest`.
inline Factor split_factor(double factor) {
  if (factor >= 0x1p-80 || factor <= -0x1p-80) return {.main = static_cast<float>(factor)};
  return {.main = static_cast<float>(factor * 0x1p100), .rest = 0x1p-100f};
}
#endif

}  // namespace thresher
