// SPDX-License-Identifier: Apache-2.0
// Thirty-two registers: sixteen accumulators, as 16 rows x 1 panel or 8 rows x 2 panels.
#include "cpu/vec_avx512.hpp"

#include "cpu/body.hpp"
#include "cpu/body_table.hpp"

namespace thresher::cpu {

const Body& avx512vnni_body() {
  static const Body body = make_body<Avx512Quads, TileLimits{.integer_rows_one_panel = 16,
                                                             .integer_rows_two_panels = 8,
                                                             .float_rows = 16}>(Isa::kAvx512Vnni);
  return body;
}

}  // namespace thresher::cpu
