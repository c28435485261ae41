// SPDX-License-Identifier: Apache-2.0
// What tcgen05 is told, taken apart from the bits alone: this file and the one that packs them
// (gpu/hw/sm100/descriptors.hpp) share no code, so one checks the other.
#pragma once

#include <string>

#include "emulator/descriptor.hpp"

namespace thresher::emulator {

// A matrix of rows of 32 bytes, or for copies of scales of 16, in shared memory.
MatrixView decode_tensor_descriptor(u64 bits);
// What is wrong with it as an operand of so many rows, the window aside; empty if nothing.
std::string operand_fault(u64 bits, int row_count);
// The same for a copy of scales.
std::string scale_source_fault(u64 bits);

struct InstructionView {
  u32 rows = 0;
  u32 columns = 0;
  bool negate_a = false;
  bool negate_b = false;
};
InstructionView decode_instruction(u32 bits);
// What is wrong with an MMA of kind mxf4nvf4 with scales of 16 values in one block, or in two.
std::string instruction_fault(u32 bits, int block_count);

}  // namespace thresher::emulator
