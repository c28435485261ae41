// SPDX-License-Identifier: Apache-2.0
// The rule, in words: the widest vector instructions the CPU has, with that instruction set's
// default knobs; AMX instead when the tiles are exact for the activations and groups have enough
// rows to pay for expanding the weights to bf16. Everything finer (direct or decoded panels) is
// decided group by group, by rows, inside the variant (variant.hpp, panel_rows_min).
#include "cpu/choose.hpp"

#include <algorithm>

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

// AMX multiplies bf16: whatever NVFP4 stands for is exact in it, fp16 is not.
bool is_exact_in_amx(Activations activations) { return activations != Activations::kFp16; }

}  // namespace

Isa best_vector_isa(const std::vector<Isa>& isas) {
  Isa best = Isa::kPortable;
  for (const Isa isa : isas) best = isa == Isa::kAmx ? best : std::max(best, isa);
  return best;
}

Isa best_vector_isa() { return best_vector_isa(runnable_isas()); }

Isa choose_isa(const Problem& problem, const std::vector<Isa>& isas) {
  const bool has_amx = std::find(isas.begin(), isas.end(), Isa::kAmx) != isas.end();
  const bool pays = is_exact_in_amx(problem.activations) && mean_rows(problem) >= kAmxRowsMin;
  return has_amx && pays ? Isa::kAmx : best_vector_isa(isas);
}

Variant choose(const Problem& problem) {
  return default_variant(choose_isa(problem, runnable_isas()));
}

}  // namespace thresher::cpu
