// SPDX-License-Identifier: Apache-2.0
#include "gpu/layer/layer_source.hpp"

#include "gpu/gemm/entry_source.hpp"

namespace thresher::gpu {

std::string entry_source(const LayerConfig& config) {
  return entry_source(Entry{
      .header = "layer/kernels/layer.cuh",
      .function = "layer_kernel",
      .args = "LayerArgs",
      .config = fmt::format(
          "LayerConfig{{.step = {}, .activations = {}, .type = {}, .strips = {}}}",
          enumerator("LayerStep", config.step), enumerator("ActivationType", config.activations),
          enumerator("OutputType", config.type), config.strips),
      .thread_count = kLayerThreads,
      .blocks_per_sm = is_few(config.step) ? kFewBlocksPerSm : 1});
}

}  // namespace thresher::gpu
