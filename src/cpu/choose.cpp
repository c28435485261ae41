// SPDX-License-Identifier: Apache-2.0
// The rule, in words: the widest vector instructions the CPU has, with that instruction set's
// default knobs; AMX instead when its tiles are exact for the activations and the model of time
// counts less work with them. It goes by the work alone: AMX sums in another order, and a result's
// bits shall not depend on the number of threads. Everything finer (direct or decoded panels) is
// decided group by group, by rows, inside the variant (variant.hpp, panel_rows_min).
#include "cpu/choose.hpp"

#include <algorithm>

#include "cpu/model.hpp"

namespace thresher::cpu {
namespace {

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
  const Isa vectors = best_vector_isa(isas);
  const bool has_amx = std::find(isas.begin(), isas.end(), Isa::kAmx) != isas.end();
  if (!has_amx || !is_exact_in_amx(problem.activations)) return vectors;
  return default_cost(problem, Isa::kAmx) < default_cost(problem, vectors) ? Isa::kAmx : vectors;
}

Variant choose(const Problem& problem) {
  return default_variant(choose_isa(problem, runnable_isas()));
}

}  // namespace thresher::cpu
