// SPDX-License-Identifier: Apache-2.0
// The default choice: which variant runs a problem on this machine when nobody says.
#pragma once

#include "cpu/variant.hpp"

namespace thresher::cpu {

// The instruction set for integer and float tiles: the widest this CPU has, AMX aside.
Isa best_vector_isa();

Variant choose(const Problem& problem);

}  // namespace thresher::cpu
