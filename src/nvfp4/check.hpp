// SPDX-License-Identifier: Apache-2.0
// The bounds that matrices and scale tensors are held to before a byte of them is read or
// allocated. Once these have passed, no size computed from the extents can overflow 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher::nvfp4 {

struct Extent {
  const char* name;
  std::int64_t value;
  std::int64_t min;
  std::int64_t max;
};

// Throws Error "what: name = value is not in min..max".
void check_extent(const char* what, const Extent& extent);

// rows in 0..kExtentMax, k_elements in 16..kExtentMax and a multiple of 16, at most
// kMatrixElementsMax elements in all.
void check_matrix_extents(const char* what, std::int64_t rows, std::int64_t k_elements);

// A caller's buffer that must hold rows x columns things called `name`.
struct Buffer {
  const char* name;
  std::size_t count;
  std::int64_t rows;
  std::int64_t columns;
};

// Throws Error "what: 48 values given, 2 x 32 = 64 needed".
void check_count(const char* what, const Buffer& buffer);

}  // namespace thresher::nvfp4
