// SPDX-License-Identifier: Apache-2.0
#include "emulated/named_kernels.hpp"

namespace thresher::emulated {

const KernelSet& named_kernels() {
  static const KernelSet kernels = [] {
    KernelSet all;
    add_default_kernels(all);
    add_few_token_kernels(all);
    add_tile_kernels(all);
    add_pipeline_kernels(all);
    add_schedule_kernels(all);
    add_warp_kernels(all);
    add_warp_few_token_kernels(all);
    add_warp_knob_kernels(all);
    add_block_scaled_kernels(all);
    return all;
  }();
  return kernels;
}

}  // namespace thresher::emulated
