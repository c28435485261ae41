// SPDX-License-Identifier: Apache-2.0
#include "emulator/tensor_descriptor.hpp"

#include <fmt/format.h>

namespace thresher::emulator {
namespace {

constexpr u32 kTensorGroupRows = 8;
constexpr u32 kOperandRowBytes = 32;  // of an operand: 64 codes
constexpr u32 kPlainGroupBytes = 128;

u32 bits_of(u64 bits, int first, int count) {
  return static_cast<u32>(bits >> first & ((u64{1} << count) - 1));
}

u32 bytes_at(u64 bits, int first) { return bits_of(bits, first, 14) << 4; }

// By the three bits of the layout; 0: there is none that the emulator knows.
u32 swizzle_row_bytes(u32 layout) {
  constexpr u32 kBytes[] = {16, 0, 128, 0, 64, 0, 32, 0};
  return kBytes[layout];
}

// What holds for every descriptor.
std::string common_fault(u64 bits) {
  if (bits_of(bits, 46, 3) != 1) {
    return fmt::format("has {} in bits 46 to 48, where Blackwell wants 1", bits_of(bits, 46, 3));
  }
  if (bits_of(bits, 49, 3) != 0) return "has a base offset, which the emulator does not know";
  if (bits_of(bits, 52, 1) != 0) return "gives its leading offset as an absolute address";
  constexpr u64 kReserved = u64{3} << 14 | u64{3} << 30 | u64{0xff} << 53;
  if ((bits & kReserved) != 0) return "sets reserved bits";
  const u32 layout = bits_of(bits, 61, 3);
  if (swizzle_row_bytes(layout) == 0) {
    return fmt::format("has layout {}, which is none for these operands", layout);
  }
  return "";
}

}  // namespace

MatrixView decode_tensor_descriptor(u64 bits) {
  return {.start = bytes_at(bits, 0),
          .leading_bytes = bytes_at(bits, 16),
          .stride_bytes = bytes_at(bits, 32),
          .row_bytes = swizzle_row_bytes(bits_of(bits, 61, 3))};
}

std::string operand_fault(u64 bits, int row_count) {
  if (std::string wrong = common_fault(bits); !wrong.empty()) return wrong;
  const MatrixView view = decode_tensor_descriptor(bits);
  if (view.row_bytes < kOperandRowBytes) return "";
  const u32 group_bytes = kTensorGroupRows * view.row_bytes;
  if (view.start % group_bytes + kOperandRowBytes > view.row_bytes) {
    return fmt::format("starts at {:#x}, which is not in the first row of a {}-byte group",
                       view.start, group_bytes);
  }
  if (row_count > static_cast<int>(kTensorGroupRows) && view.stride_bytes % group_bytes != 0) {
    return fmt::format("has a stride of {} bytes, which is no multiple of its {}-byte group",
                       view.stride_bytes, group_bytes);
  }
  return "";
}

std::string scale_source_fault(u64 bits) {
  if (std::string wrong = common_fault(bits); !wrong.empty()) return wrong;
  const MatrixView view = decode_tensor_descriptor(bits);
  if (view.row_bytes != 16) return "is swizzled, and scales are not";
  if (view.stride_bytes != kPlainGroupBytes) {
    return fmt::format("has its groups of 8 rows {} bytes apart, and scales lie 128 apart",
                       view.stride_bytes);
  }
  return "";
}

InstructionView decode_instruction(u32 bits) {
  return {.rows = bits_of(bits, 24, 5) * 16,
          .columns = bits_of(bits, 17, 6) * 8,
          .negate_a = bits_of(bits, 13, 1) != 0,
          .negate_b = bits_of(bits, 14, 1) != 0};
}

std::string instruction_fault(u32 bits, int block_count) {
  const auto field = [=](int first, int count) { return bits_of(bits, first, count); };
  if (field(2, 1) != 0) return "asks for a sparse A, which the emulator does not know";
  if (field(0, 2) != 0 || field(3, 1) != 0 || field(6, 1) != 0) return "sets reserved bits";
  if (field(7, 3) != 1 || field(10, 3) != 1) {
    return fmt::format("has formats {} and {}: E2M1 is 1 here", field(7, 3), field(10, 3));
  }
  if (field(15, 2) != 0) return "wants an operand M-major, and FP4 is K-major only";
  if (field(23, 1) != 0) return "has UE8M0 scales, and NVFP4's are UE4M3";
  if (field(4, 2) != 0 || field(29, 2) != 0) {
    return fmt::format("has scale ids {} and {}: four scales fill a column, so both are 0",
                       field(29, 2), field(4, 2));
  }
  if (field(31, 1) != 0) return "is 96 deep, which sm_100 has not";
  const InstructionView view = decode_instruction(bits);
  const auto blocks = static_cast<u32>(block_count);
  if (view.rows != 128 && view.rows != 128 * blocks) {
    return fmt::format("has {} rows: an FP4 MMA of {}", view.rows,
                       blocks == 1 ? "one block has 128" : "a pair of blocks has 128 or 256");
  }
  const u32 step = 8 * blocks;
  if (view.columns < step || view.columns > 256 || view.columns % step != 0) {
    return fmt::format("has {} columns, no multiple of {} from {} to 256", view.columns, step,
                       step);
  }
  return "";
}

}  // namespace thresher::emulator
