// SPDX-License-Identifier: Apache-2.0
// Packed weights of one group: panels in memory, gate and up panels alternating for dual.
#pragma once

#include <cstdint>

#include "cpu/pages.hpp"
#include "cpu/panel.hpp"
#include "cpu/pool.hpp"
#include "thresher/problem.hpp"

namespace thresher::cpu {

struct PackedWeights {
  Op op = Op::kGemm;
  std::int64_t n = 0;
  std::int64_t k_elements = 0;
  float global_scale = 1.0f;
  float global_scale_up = 1.0f;
  Pages pages;

  int matrix_count() const { return op == Op::kDual ? 2 : 1; }
  // Panel `index` of matrix 0 (gemm's only one, dual's gate) or 1 (dual's up).
  std::uint8_t* panel(std::int64_t index, int matrix) const {
    return pages.data() +
           static_cast<std::size_t>(index * matrix_count() + matrix) * panel_bytes(k_elements);
  }
};

// The same in other memory.
PackedWeights duplicate(const PackedWeights& weights, PageStore& store);

// `up` is null for gemm. Both views have been checked and agree in shape.
PackedWeights pack_weights(const Nvfp4View& b, const Nvfp4View* up, Pool& pool, PageStore& store);

Nvfp4Matrix unpack_weights(const PackedWeights& weights, int matrix);

}  // namespace thresher::cpu
