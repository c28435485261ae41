// SPDX-License-Identifier: Apache-2.0
#include "emulator/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace thresher::emulator {
namespace {

using gpu::hw::TensorMapFields;

constexpr u32 kSwizzleChunkBytes = 16;
constexpr u32 kLineBytes = 128;  // that the swizzle counts
constexpr u32 kBoxMax = 256;
constexpr u64 kExtentMax = u64{1} << 32;
constexpr u64 kStrideMax = u64{1} << 40;

// Bytes of a row that is swizzled; 0: none is.
u32 swizzled_bytes(u32 swizzle) { return swizzle == 0 ? 0 : kSwizzleChunkBytes << swizzle; }

std::string kind_fault(const TensorMapFields& map) {
  if (map.type != 0)
    return fmt::format("has elements of type {}, and boxes are of bytes", map.type);
  if (map.rank != 2) return fmt::format("has {} dimensions, and boxes have 2", map.rank);
  if (map.interleave != 0) return "interleaves, which the emulator does not know";
  if (map.swizzle > 3) return fmt::format("has swizzle {}, and there are 0 to 3", map.swizzle);
  if (map.promotion > 3) {
    return fmt::format("has L2 promotion {}, and there are 0 to 3", map.promotion);
  }
  if (map.fill != 0) return "fills with NaN, which bytes have none of";
  return "";
}

std::string matrix_fault(const TensorMapFields& map) {
  if (map.address == 0 || map.address % kSwizzleChunkBytes != 0) {
    return fmt::format("has its matrix at {:#x}, not aligned to 16", map.address);
  }
  for (const u64 extent : map.extents) {
    if (extent == 0 || extent > kExtentMax) {
      return fmt::format("has an extent of {}, not between 1 and 2^32", extent);
    }
  }
  if (map.stride_bytes % kSwizzleChunkBytes != 0 || map.stride_bytes >= kStrideMax) {
    return fmt::format("has rows {} bytes apart, no multiple of 16 below 2^40", map.stride_bytes);
  }
  if (map.stride_bytes < map.extents[0]) {
    return fmt::format("has rows of {} bytes only {} apart", map.extents[0], map.stride_bytes);
  }
  return "";
}

std::string box_fault(const TensorMapFields& map) {
  for (const u32 extent : map.box) {
    if (extent == 0 || extent > kBoxMax) {
      return fmt::format("has a box with an extent of {}, not between 1 and 256", extent);
    }
  }
  if (map.box[0] % kSwizzleChunkBytes != 0) {
    return fmt::format("has a box with rows of {} bytes, no multiple of 16", map.box[0]);
  }
  const u32 most = swizzled_bytes(map.swizzle);
  if (most != 0 && map.box[0] > most) {
    return fmt::format("has a box with rows of {} bytes, and swizzles {}", map.box[0], most);
  }
  if (map.steps[0] != 1 || map.steps[1] != 1) {
    return fmt::format("steps by {} and {} elements, and boxes are whole", map.steps[0],
                       map.steps[1]);
  }
  return "";
}

u32 left_of(u64 extent, u64 from, u32 most) {
  return static_cast<u32>(std::min<u64>(extent - std::min(extent, from), most));
}

}  // namespace

std::string tensor_map_fault(const TensorMapFields& fields) {
  std::string wrong = kind_fault(fields);
  if (wrong.empty()) wrong = matrix_fault(fields);
  if (wrong.empty()) wrong = box_fault(fields);
  return wrong;
}

u32 Box::alignment() const { return std::max(8 * swizzled_bytes(map.swizzle), kLineBytes); }
u32 Box::rows_there() const { return left_of(map.extents[1], row, map.box[1]); }
u32 Box::bytes_there() const { return left_of(map.extents[0], byte, map.box[0]); }

const u8* Box::row_at(u32 index) const {
  return reinterpret_cast<const u8*>(map.address + (row + index) * map.stride_bytes + byte);
}

// The swizzle xors the number of a chunk in its row with that of the 128 bytes that it lies in.
void Box::bring(u8* destination) const {
  std::memset(destination, 0, bytes());
  const u32 mask = map.swizzle == 0 ? 0 : swizzled_bytes(map.swizzle) / kSwizzleChunkBytes - 1;
  for (u32 r = 0; r < rows_there(); ++r) {
    for (u32 b = 0; b < bytes_there(); ++b) {
      const u32 place = r * map.box[0] + b;
      destination[place ^ (place / kLineBytes & mask) * kSwizzleChunkBytes] = row_at(r)[b];
    }
  }
}

}  // namespace thresher::emulator
