// SPDX-License-Identifier: Apache-2.0
#include "cpu/body.hpp"
#include "cpu/body_table.hpp"
#include "cpu/vec_portable.hpp"

namespace thresher::cpu {

const Body& portable_body() {
  static const Body body = make_body<PortableQuads, TileLimits{.integer_rows_one_panel = 8,
                                                               .integer_rows_two_panels = 0,
                                                               .float_rows = 8}>(Isa::kPortable);
  return body;
}

}  // namespace thresher::cpu
