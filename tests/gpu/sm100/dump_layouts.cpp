// SPDX-License-Identifier: Apache-2.0
// Where codes and scales lie for Blackwell's MMAs, what boxes come to, and the bits of descriptors,
// as lines for layouts_check.py, which holds them against CUTLASS's.
#include <fmt/format.h>

#include <array>

#include "emulator/tensor_map.hpp"
#include "gpu/sm100/kernels/tensor_layout.hpp"

namespace thresher::gpu::sm100 {
namespace {

void dump_places() {
  for (u32 row = 0; row < kTileRows; ++row) {
    for (u32 block = 0; block < kBlocksPerTile; ++block) {
      fmt::print("code {} {} {}\n", row, block, code_place(row, block));
    }
  }
  for (const u32 row_blocks : {1u, 2u}) {
    for (u32 row = 0; row < 128 * row_blocks; ++row) {
      for (u32 block = 0; block < kBlocksPerTile; ++block) {
        fmt::print("scale {} {} {} {}\n", row_blocks, row, block,
                   scale_place(row, block, row_blocks));
      }
    }
  }
}

// Which bytes of a box stand where, by their 16; its rows are as long as the swizzle's.
void dump_box(hw::Swizzle swizzle) {
  alignas(16) std::array<u8, 2048> matrix;
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<u8>(i / 16);
  const u32 swizzled = swizzle == hw::Swizzle::kNone ? 0 : 16u << static_cast<u32>(swizzle);
  const u32 row_bytes = swizzled == 0 ? 128 : swizzled;
  const u32 rows = static_cast<u32>(matrix.size()) / row_bytes;
  hw::TensorMapFields fields =
      hw::tensor_map_fields(reinterpret_cast<u64>(matrix.data()), rows, row_bytes, rows, swizzle);
  fields.box[0] = row_bytes;
  std::array<u8, 2048> box;
  emulator::Box{.map = fields}.bring(box.data());
  for (std::size_t place = 0; place < box.size(); place += 16) {
    fmt::print("box {} {} {}\n", swizzled, 16 * box[place], place);
  }
}

void dump_descriptors() {
  for (const u32 rows : {128u, 256u}) {
    for (u32 columns = 16; columns <= 256; columns += 16) {
      fmt::print("instruction {} {} {}\n", rows, columns,
                 hw::block_scaled_instruction(columns, rows));
    }
  }
  for (const u32 address : {1024u, 74880u}) {
    fmt::print("operand {} {} {}\n", address, 1024,
               hw::tensor_descriptor(address, 1024, hw::Swizzle::k128));
    fmt::print("scales {} {} {}\n", address, 128,
               hw::tensor_descriptor(address, 128, hw::Swizzle::kNone));
  }
}

}  // namespace
}  // namespace thresher::gpu::sm100

int main() {
  using namespace thresher::gpu;  // NOLINT(google-build-using-namespace)
  sm100::dump_places();
  for (const hw::Swizzle swizzle :
       {hw::Swizzle::kNone, hw::Swizzle::k32, hw::Swizzle::k64, hw::Swizzle::k128}) {
    sm100::dump_box(swizzle);
  }
  sm100::dump_descriptors();
}
