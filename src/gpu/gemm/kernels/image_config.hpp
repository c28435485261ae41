// SPDX-License-Identifier: Apache-2.0
// The knobs of the prologue (activation_images.cuh), as a template argument.
#pragma once

#include "gpu/gemm/kernels/token_tiles.hpp"
#include "gpu/hw/types.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::gpu {

// The last two are the emulator's, where the launch says which of several types it is: fp16 or bf16
// (kWide), or all of them.
enum class ActivationType : u8 { kNvfp4, kFp16, kBf16, kWide, kAny };

struct ImageConfig {
  ActivationType activations = ActivationType::kNvfp4;
  TokenCut cut;  // as the GEMM's

  bool operator==(const ImageConfig&) const = default;
};

inline constexpr int kImageThreads = 256;
inline constexpr int kImageBlocksPerSm = 4;

// What a warp does at a time: so many tokens of one tile, 8 k per thread and token.
inline constexpr int kImageTaskTokens = 4;
inline constexpr int kImageTaskK = hw::kWarpThreads * 8;

// The type that images, and so the decoded weights, have.
THRESHER_DEVICE constexpr hw::Operand operand_of(ActivationType activations) {
  if (activations == ActivationType::kWide || activations == ActivationType::kAny) {
    return hw::Operand::kOfLaunch;
  }
  return activations == ActivationType::kBf16 ? hw::Operand::kBf16 : hw::Operand::kFp16;
}

}  // namespace thresher::gpu
