// SPDX-License-Identifier: Apache-2.0
// Where a season starts.
#pragma once

#include "gemm/backend.hpp"
#include "referee/contestant/contestant.hpp"

namespace thresher {

// The seeds' starting point in the CPU's words: this machine's best vector instructions with every
// idea of the pitches still to be had. Group after group, no prefetch, a small register tile, plain
// stores, weights decoded for every tile, and two passes for a dual problem. The engine's own
// default is far ahead of it: a season finds out which of the ideas that is due to.
Contestant cpu_baseline();

// The same on a GPU: one stage, every warp does everything, a launch per group, two passes for a
// dual problem.
Contestant gpu_baseline();

Contestant baseline(Backend backend);

}  // namespace thresher
