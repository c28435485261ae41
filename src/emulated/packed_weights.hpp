// SPDX-License-Identifier: Apache-2.0
// Weights in the layout that the GPU's kernels read, in host memory.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/sm90/weight_tiles.hpp"

namespace thresher::emulated {

struct PackedWeights {
  gpu::sm90::WeightTiles tiles;
  std::vector<std::uint8_t> bytes;
  float global_scale = 1.0f;
  float global_scale_up = 1.0f;  // of dual weights
};

// For problems with such activations. Throw Error where gpu::sm90::pack_weights and
// gpu::sm90::pack_dual_weights do.
PackedWeights pack(const Nvfp4View& b, Activations activations = Activations::kNvfp4);
PackedWeights pack_dual(const Nvfp4View& gate, const Nvfp4View& up,
                        Activations activations = Activations::kNvfp4);

}  // namespace thresher::emulated
