// SPDX-License-Identifier: Apache-2.0
// The tile multiply of the AMX body: tdpbf16ps, 16 x 16 outputs x 32 bf16 products per instruction.
#if defined(__x86_64__)

#include "cpu/amx_tiles.hpp"
#include "cpu/calibrate_loops.hpp"

namespace thresher::cpu {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileRowBytes = 64;
constexpr int kTilesPerIteration = 4;

void configure_tiles() {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.row_bytes[tile] = kTileRowBytes;
    config.rows[tile] = kTileRows;
  }
  load_config(config);
}

// Four accumulators from two tiles of A and two of B, as a kernel blocks them: enough independent
// work for an instruction that starts every 16 cycles and takes 52.
void multiply_add(std::int64_t iteration_count) {
  alignas(64) std::uint16_t ones[kTileRows * kTileRowBytes / 2];
  for (std::uint16_t& one : ones) one = 0x3f80;  // 1.0 as bf16
  finish_stores(ones);
  configure_tiles();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, ones, kTileRowBytes);
  _tile_loadd(5, ones, kTileRowBytes);
  _tile_loadd(6, ones, kTileRowBytes);
  _tile_loadd(7, ones, kTileRowBytes);
  for (std::int64_t i = 0; i < iteration_count; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

}  // namespace

ComputeLoop multiply_add_loop_amx() {
  return {.run = multiply_add,
          .operations_per_iteration = kTilesPerIteration * 16.0 * 16.0 * 32.0 * 2.0};
}

}  // namespace thresher::cpu

#endif
