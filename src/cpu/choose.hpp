// SPDX-License-Identifier: Apache-2.0
// The default choice: which variant runs a problem on this machine when nobody says.
#pragma once

#include <vector>

#include "cpu/variant.hpp"

namespace thresher::cpu {

// The instruction set for integer and float tiles: the widest of `isas` (this CPU's), AMX aside.
Isa best_vector_isa(const std::vector<Isa>& isas);
Isa best_vector_isa();

// What a CPU that has `isas` runs the problem with.
Isa choose_isa(const Problem& problem, const std::vector<Isa>& isas);

Variant choose(const Problem& problem);

}  // namespace thresher::cpu
