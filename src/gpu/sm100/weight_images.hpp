// SPDX-License-Identifier: Apache-2.0
// Packs NVFP4 weights into the tiles that Blackwell's MMAs read as they are, and back: 0.57 bytes
// per weight, plus padding to 128 rows and 256 k, and a bit per scale that no kernel reads.
//
// kernels/tensor_layout.hpp has the layout. Nothing is lost: unpacking gives the very bytes that
// were packed. Global scales are no part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/hw/sm90/tensor_map.hpp"
#include "thresher/engine.hpp"

namespace thresher::gpu::sm100 {

// What was packed: n x k_elements, twice that for dual.
struct WeightImages {
  Op op = Op::kGemm;
  std::int64_t n = 0;
  std::int64_t k_elements = 0;

  std::int64_t matrix_count() const { return op == Op::kDual ? 2 : 1; }
  std::int64_t row_tile_count() const;
  std::int64_t k_tile_count() const;
  std::int64_t tile_count() const { return row_tile_count() * k_tile_count() * matrix_count(); }
  std::size_t bytes() const;
};

WeightImages images_for(const WeightMatrices& matrices);

// `out` has WeightImages::bytes() bytes and is written completely. The matrices have been checked.
void pack_images(const WeightMatrices& matrices, std::span<std::uint8_t> out);

// Of what was packed to `address`: a tile of a matrix is a box.
hw::TensorMapFields map_of(const WeightImages& images, std::uint64_t address);

// Of dual weights matrix 0 is the gate, 1 the up matrix. The global scale is 1.
Nvfp4Matrix unpack_images(const WeightImages& images, std::span<const std::uint8_t> packed,
                          int matrix = 0);

}  // namespace thresher::gpu::sm100
