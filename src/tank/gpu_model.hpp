// SPDX-License-Identifier: Apache-2.0
// The machine model of the GPU backend: tiles with their padding and decoding, waves of them over
// the SMs, the bytes of the prologue and of the passes, launches. Traffic between the L2 and the
// SMs, stages and roles are outside it.
#pragma once

#include "gpu/sm90/variant.hpp"
#include "tank/machine_model.hpp"

namespace thresher {

// `variant` must support `problem` on `machine`.
ModelledRun modelled_gpu_run(const Problem& problem, const gpu::sm90::Variant& variant,
                             const Machine& machine);

}  // namespace thresher
