// SPDX-License-Identifier: Apache-2.0
#include "emulator/descriptor.hpp"

#include <fmt/format.h>

namespace thresher::emulator {
namespace {

constexpr int kGroupRows = 8;
constexpr u32 kChunkBytes = 16;
constexpr u32 kDepthBytes = 32;

u32 field_bytes(u64 bits, int first_bit) {
  return static_cast<u32>(bits >> first_bit & 0x3fff) << 4;
}

// Bits 62 and 63: 1 is the longest row, not the shortest.
u32 row_bytes_of(u64 bits) {
  constexpr u32 kRowBytes[] = {16, 128, 64, 32};
  return kRowBytes[bits >> 62];
}

}  // namespace

MatrixView decode_descriptor(u64 bits) {
  return {.start = field_bytes(bits, 0),
          .leading_bytes = field_bytes(bits, 16),
          .stride_bytes = field_bytes(bits, 32),
          .row_bytes = row_bytes_of(bits)};
}

gpu::hw::SharedAddress MatrixView::chunk_address(int row, int chunk) const {
  const u32 group_offset = static_cast<u32>(row / kGroupRows) * stride_bytes;
  const u32 row_offset = static_cast<u32>(row % kGroupRows) * row_bytes;
  if (row_bytes == kChunkBytes) {
    return start + group_offset + row_offset + static_cast<u32>(chunk) * leading_bytes;
  }
  const u32 linear = start + group_offset + row_offset + static_cast<u32>(chunk) * kChunkBytes;
  return linear ^ (linear >> 3 & (row_bytes - kChunkBytes));
}

std::string descriptor_fault(u64 bits, int row_count) {
  constexpr u64 kUsedBits = 0xc000'3fff'3fff'3fffULL;
  if ((bits >> 49 & 7) != 0) return "has a base offset, which the emulator does not know";
  if ((bits & ~kUsedBits) != 0) return "sets reserved bits";
  const MatrixView view = decode_descriptor(bits);
  if (view.row_bytes == kChunkBytes) return "";
  const u32 group_bytes = kGroupRows * view.row_bytes;
  if (view.start % group_bytes + kDepthBytes > view.row_bytes) {
    return fmt::format("starts at {:#x}, which is not in the first row of a {}-byte group",
                       view.start, group_bytes);
  }
  if (row_count > kGroupRows && view.stride_bytes % group_bytes != 0) {
    return fmt::format("has a stride of {} bytes, which is no multiple of its {}-byte group",
                       view.stride_bytes, group_bytes);
  }
  return "";
}

}  // namespace thresher::emulator
