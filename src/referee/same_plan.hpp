// SPDX-License-Identifier: Apache-2.0
// Problems in which two of our own variants do the very same thing. A knob may have no say there: a
// dual form where nothing is dual, or a choice of the engine's that comes to what is named.
// Identical code on identical data cannot be slower than itself, so no noise shall keep a match
// open over it.
#pragma once

#include <string>
#include <vector>

#include "gemm/suite.hpp"
#include "referee/contestant/contestant.hpp"
#include "thresher/engine.hpp"

namespace thresher::referee {

// By what `engine`, in the referee's own process, plans for each of them. Empty unless both are
// variants of ours, and where both are the same: a copy is a control, measured in everything.
std::vector<std::string> problems_of_same_plan(const Contestant& champion,
                                               const Contestant& challenger, const Suite& suite,
                                               const Engine& engine);

}  // namespace thresher::referee
