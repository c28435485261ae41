// SPDX-License-Identifier: Apache-2.0
// The default, which launches=per_group, launches=streams and graph=on share.
#include "emulated/named_instantiate.hpp"

namespace thresher::emulated {

void add_default_kernels(KernelSet& kernels) { add_variant<gpu::GemmKnobs{}>(kernels); }

}  // namespace thresher::emulated
