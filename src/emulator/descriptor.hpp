// SPDX-License-Identifier: Apache-2.0
// A matrix descriptor taken apart as wgmma takes it apart, from the bits alone: this file and the
// one that packs them (gpu/hw/words.hpp) share no code, so one checks the other.
#pragma once

#include <string>

#include "emulator/knowledge.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::emulator {

// A K-major operand of 16-bit values, 16 deep: each row is two chunks of 16 bytes.
struct MatrixView {
  u32 start = 0;
  u32 leading_bytes = 0;
  u32 stride_bytes = 0;
  u32 row_bytes = 16;  // of the swizzle's rows: 16 (none), 32, 64 or 128

  // Where chunk 0 or 1 of a row lies. The swizzle permutes address bits 4.. by those from bit 7 on,
  // absolute ones: that is why groups of 8 rows must be aligned to their size.
  gpu::hw::SharedAddress chunk_address(int row, int chunk) const;
};

MatrixView decode_descriptor(u64 bits);
// What is wrong with a matrix of so many rows, the window aside; empty if nothing.
std::string descriptor_fault(u64 bits, int row_count);

}  // namespace thresher::emulator
