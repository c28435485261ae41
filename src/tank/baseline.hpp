// SPDX-License-Identifier: Apache-2.0
// Where a season on the CPU starts.
#pragma once

#include "referee/contestant.hpp"

namespace thresher {

// The seeds' starting point in the CPU's words: this machine's best vector instructions with every
// idea of the pitches still to be had. Group after group, no prefetch, a small register tile, plain
// stores, weights decoded for every tile, and two passes for a dual problem. The engine's own
// default is far ahead of it: a season finds out which of the ideas that is due to.
Contestant cpu_baseline();

}  // namespace thresher
