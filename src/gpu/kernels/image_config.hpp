// SPDX-License-Identifier: Apache-2.0
// The knobs of the prologue (activation_images.cuh), as a template argument.
#pragma once

#include "gpu/hw/types.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::gpu {

enum class ActivationType : u8 { kNvfp4, kFp16, kBf16 };

struct ImageConfig {
  ActivationType activations = ActivationType::kNvfp4;
  int tokens = 128;  // as the GEMM's

  bool operator==(const ImageConfig&) const = default;
};

inline constexpr int kImageThreads = 256;

// k that a warp does at a time: a block of 16 per thread.
inline constexpr int kImageTaskK = hw::kWarpThreads * 16;

// The type that images, and so the decoded weights, have.
THRESHER_DEVICE constexpr hw::Operand operand_of(ActivationType activations) {
  return activations == ActivationType::kBf16 ? hw::Operand::kBf16 : hw::Operand::kFp16;
}

}  // namespace thresher::gpu
