// SPDX-License-Identifier: Apache-2.0
// Sixteen registers: a panel is two vectors, so its eight weight vectors of a block fill half of
// them and integer accumulators live in L1. The float tile keeps 6 x 2 accumulators in registers.
#include "cpu/vec_avx2.hpp"

#include "cpu/body.hpp"
#include "cpu/body_table.hpp"

namespace thresher::cpu {

const Body& avx2_body() {
  static const Body body = make_body<Avx2Pairs, TileLimits{.integer_rows_one_panel = 16,
                                                           .integer_rows_two_panels = 0,
                                                           .float_rows = 6}>(Isa::kAvx2);
  return body;
}

}  // namespace thresher::cpu
