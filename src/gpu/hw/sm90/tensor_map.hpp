// SPDX-License-Identifier: Apache-2.0
// Tensor maps: what copies of boxes are told of a matrix in global memory. The host says it in
// fields, which a driver packs into an object that nobody else reads; the emulator keeps the fields
// as they are, and checks every one of them when a copy uses them.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// The object, wherever it lies.
struct alignas(64) TensorMap {
  u64 words[16] = {};
};

// As cuTensorMapEncodeTiled takes them, in its numbers; extents, boxes and steps by byte, then by
// row.
struct TensorMapFields {
  u64 address = 0;  // a multiple of 16
  u64 extents[2] = {};
  u64 stride_bytes = 0;   // from one row to the next, a multiple of 16
  u32 box[2] = {};        // at most 256; bytes are a multiple of 16, and fit the swizzle's row
  u32 steps[2] = {1, 1};  // every byte of every row
  u32 type = 0;           // bytes
  u32 rank = 2;
  u32 interleave = 0;  // none
  u32 swizzle = 0;     // none, or rows of 32, 64 or 128 bytes, in the order of Swizzle
  u32 promotion = 0;   // to the L2: none
  u32 fill = 0;        // zeros, where the matrix ends
};

// Bytes of a row of the boxes that kernels copy: as many as the widest swizzle permutes.
inline constexpr u32 kBoxRowBytes = 128;

// Rows that follow each other without gaps, in boxes of some of them and 128 bytes.
THRESHER_DEVICE constexpr TensorMapFields tensor_map_fields(u64 address, u64 row_count,
                                                            u64 row_bytes, u32 box_rows,
                                                            Swizzle swizzle) {
  return {.address = address,
          .extents = {row_bytes, row_count},
          .stride_bytes = row_bytes,
          .box = {kBoxRowBytes, box_rows},
          .swizzle = static_cast<u32>(swizzle)};
}

}  // namespace thresher::gpu::hw
