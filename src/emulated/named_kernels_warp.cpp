// SPDX-License-Identifier: Apache-2.0
// The default of the kernels for warps, which launches=per_group shares.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {

void add_warp_kernels(KernelSet& kernels) {
  add_variant<gpu::default_knobs(gpu::Mma::kWarp)>(kernels);
}

}  // namespace thresher::emulated
