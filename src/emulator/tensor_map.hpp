// SPDX-License-Identifier: Apache-2.0
// A tensor map taken apart: what a driver or a device would refuse of it, and where the bytes of a
// box come from and go to.
#pragma once

#include <string>

#include "gpu/hw/sm90/tensor_map.hpp"

namespace thresher::emulator {

using gpu::u32;
using gpu::u64;
using gpu::u8;

// What is wrong with a map of rows of bytes; empty if nothing.
std::string tensor_map_fault(const gpu::hw::TensorMapFields& fields);

// A box that is copied.
struct Box {
  gpu::hw::TensorMapFields map;
  u64 byte = 0;
  u64 row = 0;

  u32 bytes() const { return map.box[0] * map.box[1]; }
  // That the swizzle, or a copy without one, wants of the destination.
  u32 alignment() const;
  // What the matrix has of the box: of its rows, and of each of them.
  u32 rows_there() const;
  u32 bytes_there() const;
  const u8* row_at(u32 index) const;
  // All of it as it comes to lie, zeros where the matrix ends.
  void bring(u8* destination) const;
};

}  // namespace thresher::emulator
