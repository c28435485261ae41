// SPDX-License-Identifier: Apache-2.0
#include "cpu/packed_weights.hpp"

#include <cstring>

namespace thresher::cpu {

PackedWeights duplicate(const PackedWeights& weights, PageStore& store) {
  PackedWeights copy{.op = weights.op,
                     .n = weights.n,
                     .k_elements = weights.k_elements,
                     .global_scale = weights.global_scale,
                     .global_scale_up = weights.global_scale_up,
                     .pages = store.take(weights.pages.bytes())};
  std::memcpy(copy.pages.data(), weights.pages.data(), copy.pages.bytes());
  return copy;
}

PackedWeights pack_weights(const Nvfp4View& b, const Nvfp4View* up, Pool& pool, PageStore& store) {
  PackedWeights weights;
  weights.op = up == nullptr ? Op::kGemm : Op::kDual;
  weights.n = b.rows;
  weights.k_elements = b.k_elements;
  weights.global_scale = b.global_scale;
  weights.global_scale_up = up == nullptr ? 1.0f : up->global_scale;
  const std::int64_t panels = panel_count(b.rows);
  weights.pages = store.take(static_cast<std::size_t>(panels * weights.matrix_count()) *
                             panel_bytes(b.k_elements));
  pool.for_each_in_stretches(panels, [&](std::int64_t index, int) {
    pack_panel(b, index, weights.panel(index, 0));
    if (up != nullptr) pack_panel(*up, index, weights.panel(index, 1));
  });
  return weights;
}

Nvfp4Matrix unpack_weights(const PackedWeights& weights, int matrix) {
  Nvfp4Matrix b;
  b.rows = weights.n;
  b.k_elements = weights.k_elements;
  b.global_scale = matrix == 0 ? weights.global_scale : weights.global_scale_up;
  b.codes.resize(static_cast<std::size_t>(b.rows * b.k_elements / 2));
  b.scales.resize(static_cast<std::size_t>(b.rows * b.k_elements / kBlockElements));
  for (std::int64_t index = 0; index < panel_count(b.rows); ++index) {
    unpack_panel(weights.panel(index, matrix), index, b);
  }
  return b;
}

}  // namespace thresher::cpu
