// SPDX-License-Identifier: Apache-2.0
// The rule, in words: the widest vector instructions the CPU has, with that instruction set's
// default knobs; AMX instead when the tiles are exact for the activations and groups have enough
// rows to pay for expanding the weights to bf16. Everything finer (direct or decoded panels) is
// decided group by group, by rows, inside the variant (variant.hpp, panel_rows_min).
#include "cpu/choose.hpp"

#include <algorithm>

#include "cpu/body.hpp"

namespace thresher::cpu {
namespace {

// Mean rows per non-empty group from which AMX tiles beat VNNI.
constexpr double kAmxRowsMin = 12;

double mean_rows(const Problem& problem) {
  double rows = 0;
  double groups = 0;
  for (const Group& group : problem.groups) {
    rows += static_cast<double>(group.m);
    groups += group.m > 0 ? 1 : 0;
  }
  return groups > 0 ? rows / groups : 0;
}

}  // namespace

Isa best_vector_isa() {
  for (const Isa isa : {Isa::kAvx512Vnni, Isa::kAvx512, Isa::kAvx2}) {
    if (can_run(isa)) return isa;
  }
  return Isa::kPortable;
}

Variant choose(const Problem& problem) {
  if (can_run(Isa::kAmx) && body(Isa::kAmx).kernels(problem.activations).tile_rows_max > 0 &&
      mean_rows(problem) >= kAmxRowsMin) {
    return default_variant(Isa::kAmx);
  }
  return default_variant(best_vector_isa());
}

}  // namespace thresher::cpu
