// SPDX-License-Identifier: Apache-2.0
// The CPU's model of time: what the bodies take for tiles and for decoding, token tiles and tasks,
// and how evenly those fill the threads. No clock.
#pragma once

#include "backend/backend.hpp"
#include "cpu/variant.hpp"

namespace thresher::cpu {

// `variant` must support `problem` on `machine`.
ModelledRun modelled_run(const Problem& problem, const Variant& variant, const Machine& machine);

// What an instruction set's default knobs take for a problem, decoding and padding counted, in rows
// of vectors x panels x superblocks, by the same numbers. Tiles are as high as AVX-512's and AMX's.
// This CPU need not have it, and neither threads nor rates make a difference.
double default_cost(const Problem& problem, Isa isa);

}  // namespace thresher::cpu
