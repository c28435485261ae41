// SPDX-License-Identifier: Apache-2.0
// The kernels of all architectures' named_variants(), and of the baselines, for both operations:
// every variant writes every type from every type that it takes. Blackwell's choices are here too.
//
// Each named_kernels_*.cpp adds those of some variants, so that they compile side by side.
#pragma once

#include "emulated/kernel_set.hpp"

namespace thresher::emulated {

const KernelSet& named_kernels();

void add_default_kernels(KernelSet& kernels);
void add_few_token_kernels(KernelSet& kernels);
void add_tile_kernels(KernelSet& kernels);
void add_pipeline_kernels(KernelSet& kernels);
void add_schedule_kernels(KernelSet& kernels);
void add_warp_kernels(KernelSet& kernels);
void add_warp_few_token_kernels(KernelSet& kernels);
void add_warp_knob_kernels(KernelSet& kernels);
void add_block_scaled_kernels(KernelSet& kernels);

}  // namespace thresher::emulated
