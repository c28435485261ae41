// SPDX-License-Identifier: Apache-2.0
// Fills a Body from the tile templates: one instantiation per tile shape, found by run-time
// indices. Included once by each body_<isa>.cpp, so every instantiation has internal linkage there.
#pragma once

#include <utility>

#include "cpu/body.hpp"
#include "cpu/finish.hpp"
#include "cpu/layer_rows.hpp"
#include "cpu/tile_float.hpp"
#include "cpu/tile_integer.hpp"

namespace thresher::cpu {
namespace {

template <class V, int kPanels, bool kDecoded, int... kRow>
TileFunction integer_tile_at(int rows, std::integer_sequence<int, kRow...>) {
  static constexpr TileFunction kTable[] = {integer_tile<V, kRow + 1, kPanels, kDecoded>...};
  return kTable[rows - 1];
}

// Rows of the register tile per panel count; 0: no such tile.
template <class V, int kRowsOnePanel, int kRowsTwoPanels, bool kDecoded>
TileFunction find_integer_tile(int rows, int panels) {
  if constexpr (kRowsTwoPanels > 0) {
    if (panels == 2 && rows <= kRowsTwoPanels) {
      return integer_tile_at<V, 2, kDecoded>(rows,
                                             std::make_integer_sequence<int, kRowsTwoPanels>{});
    }
  }
  if (panels == 1 && rows <= kRowsOnePanel) {
    return integer_tile_at<V, 1, kDecoded>(rows, std::make_integer_sequence<int, kRowsOnePanel>{});
  }
  return nullptr;
}

template <class V, int kPanels, int... kRow>
TileFunction float_tile_at(int rows, std::integer_sequence<int, kRow...>) {
  static constexpr TileFunction kTable[] = {float_tile<V, kRow + 1, kPanels>...};
  return kTable[rows - 1];
}

// With sixteen registers more panels than one only spill.
template <class V>
constexpr int kFloatPanelsMax = V::kHasProducts ? kTilePanelsMax : 1;

template <class V, int kRowsOnePanel, int kPanels>
TileFunction find_float_tile_of(int rows) {
  // The same number of sums.
  constexpr int kRowsMax = kPanels > kFloatPanelsMax<V> ? 0 : kRowsOnePanel / kPanels;
  if constexpr (kRowsMax > 0) {
    if (rows <= kRowsMax) {
      return float_tile_at<V, kPanels>(rows, std::make_integer_sequence<int, kRowsMax>{});
    }
  }
  return nullptr;
}

template <class V, int kRowsOnePanel>
TileFunction find_float_tile(int rows, int panels) {
  switch (panels) {
    case 1:
      return find_float_tile_of<V, kRowsOnePanel, 1>(rows);
    case 2:
      return find_float_tile_of<V, kRowsOnePanel, 2>(rows);
    case 4:
      return find_float_tile_of<V, kRowsOnePanel, 4>(rows);
    default:
      return nullptr;
  }
}

template <class V, int kRowsOnePanel, int kRowsTwoPanels>
Kernels integer_kernels() {
  return {.tile_rows_max = kRowsOnePanel,
          .tile_panels_max = kRowsTwoPanels > 0 ? 2 : 1,
          .activation_bytes = integer_activation_bytes,
          .pack = pack_integer<V>,
          .direct_tile = find_integer_tile<V, kRowsOnePanel, kRowsTwoPanels, false>,
          .decoded_tile = find_integer_tile<V, kRowsOnePanel, kRowsTwoPanels, true>,
          .decoded_bytes = integer_decoded_bytes,
          .decode = decode_integer<V>,
          .unit = kIntegerUnit};
}

template <class V, int kRowsMax, WidenFunction widen>
Kernels float_kernels() {
  return {.tile_rows_max = kRowsMax,
          .tile_panels_max = 1,
          .few_rows_panels_max = kFloatPanelsMax<V>,
          .activation_bytes = float_activation_bytes,
          .pack = pack_float<widen>,
          .direct_tile = find_float_tile<V, kRowsMax>,
          .unit = kFloatUnit};
}

struct TileLimits {
  int integer_rows_one_panel;
  int integer_rows_two_panels;  // 0: tiles of one panel only
  int float_rows;
};

template <class V, TileLimits limits>
Body make_body(Isa isa) {
  Body body;
  body.isa = isa;
  body.nvfp4 = integer_kernels<V, limits.integer_rows_one_panel, limits.integer_rows_two_panels>();
  body.fp16 = float_kernels<V, limits.float_rows, fp16_to_floats>();
  body.bf16 = float_kernels<V, limits.float_rows, bf16_to_floats>();
  set_finish_functions(body);
  set_layer_functions(body.layer);
  return body;
}

}  // namespace
}  // namespace thresher::cpu
