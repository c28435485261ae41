// SPDX-License-Identifier: Apache-2.0
// Packs NVFP4 weights into the tiles that the kernels read, and back. One packed copy serves every
// tile shape of the kernels that multiply in one type: 0.5625 bytes per weight, plus padding to 128
// rows and 64 k, and a bit per scale that no kernel reads.
//
// kernels/weight_layout.hpp has the layout. Nothing is lost: unpacking gives the very bytes that
// were packed. Global scales are no part of it; they go into the factors of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/hw/words.hpp"
#include "thresher/engine.hpp"

namespace thresher::gpu {

// What was packed: n x k_elements, twice that for dual, to be decoded to `operand`.
struct WeightTiles {
  Op op = Op::kGemm;
  std::int64_t n = 0;
  std::int64_t k_elements = 0;
  hw::Operand operand = hw::Operand::kFp16;

  std::int64_t row_tile_count() const;  // tiles of 128 packed rows
  std::int64_t k_tile_count() const;    // tiles of 64 k
  std::size_t bytes() const;
};

WeightTiles tiles_for(const WeightMatrices& matrices);

// `out` has WeightTiles::bytes() bytes and is written completely. The matrices have been checked.
void pack_weights(const WeightMatrices& matrices, std::span<std::uint8_t> out);

// Of dual weights matrix 0 is the gate, 1 the up matrix. The global scale is 1.
Nvfp4Matrix unpack_weights(const WeightTiles& tiles, std::span<const std::uint8_t> packed,
                           int matrix = 0);

}  // namespace thresher::gpu
