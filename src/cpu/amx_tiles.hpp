// SPDX-License-Identifier: Apache-2.0
// The shape of AMX's tile registers. Included only by files compiled for AMX.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace thresher::cpu {
namespace {

// The operand of ldtilecfg, as the architecture lays it out.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// GCC 12's tile intrinsics do not admit to all the memory they read, so without this the compiler
// may drop or delay the stores that filled it.
inline void finish_stores(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

inline void load_config(const TileConfig& config) {
  finish_stores(&config);
  _tile_loadconfig(&config);
}

}  // namespace
}  // namespace thresher::cpu
