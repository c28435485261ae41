// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm80/model.hpp"

namespace thresher::gpu::sm80 {
namespace {

// An H200's SM per cycle: what its warps multiply, as others have measured it, and what NVIDIA
// states of shared memory and instructions.
constexpr double kCyclesPerNs = 1.98;
constexpr double kMultiplyAdds = 1270;
constexpr double kSharedBytes = 128;
constexpr double kWarpInstructions = 4;
// Its ceiling, which is that of wgmma; of other GPUs it is that of their warps.
constexpr double kGopPerS = 840000;

// Instructions of a warp, per MMA and for a k tile: its copies, its barrier and its loops; for
// decoding 16 rows of weights, and 16 values of NVFP4 tokens. Fitted, like all below: what it takes
// longer to copy tokens from the caller's rows than from images.
constexpr double kPerMma = 1.25;
constexpr double kPerKTile = 60;
constexpr double kCopyRows = 115;
constexpr double kDecodeWeights = 60;
constexpr double kDecodeTokens = 60;

// Fitted to times on an H200: what is left of MMAs, and of shared memory and instructions, where
// warps take turns at them; cycles that a block waits in every k tile, for its barrier and its
// first loads, which those beside it on the SM can use; what warps lose whose sums leave no
// registers for tokens on their way.
constexpr double kOfMultiply = 0.55;
constexpr double kOfOthers = 0.6;
constexpr double kWaitCycles = 480;
constexpr int kManySums = 96;
constexpr double kCrowded = 1.21;

bool copies_rows(const GemmConfig& config) {
  return config.prologue == Prologue::kNone && !decodes_tokens(config);
}

// All that a k tile of a block takes of the SM.
double k_tile_ns(const GemmConfig& config, int width, const Company& company) {
  const double rows = multiplied_rows(config);
  const double warps = static_cast<double>(consumer_threads(config)) / hw::kWarpThreads;
  const double multiply = rows * width * kTileK / kMultiplyAdds;
  const double weight_bytes =
      static_cast<double>(config.weight_rows) / kTileRows * static_cast<double>(kTileBytes);
  // Written once, and tokens read by every warp.
  const double shared = (2 * weight_bytes + image_bytes(width) * (1 + warps)) / kSharedBytes;
  const double mmas = rows / 16 * width / 8 * kStepsPerTile;
  const double blocks_of_tokens = decodes_tokens(config) ? width * kStepsPerTile : 0;
  const double instructions =
      kPerMma * mmas + (kPerKTile + (copies_rows(config) ? kCopyRows : 0)) * warps +
      kDecodeWeights * rows / 16 + kDecodeTokens * blocks_of_tokens / hw::kWarpThreads;
  const double cycles = kOfMultiply * multiply +
                        kOfOthers * (shared + instructions / kWarpInstructions) +
                        kWaitCycles / company.blocks_on_sm;
  const bool crowded = strips_per_warpgroup(config) * config.tokens / 2 >= kManySums;
  return cycles * (crowded ? kCrowded : 1) / kCyclesPerNs;
}

}  // namespace

const TileTimes& tile_times() {
  static const TileTimes times{.k_tile = k_tile_ns,
                               .finish = 2000,
                               .parts = 6000,
                               .parts_least = 3000,
                               .prologue = 2000,
                               .at_gop_per_s = kGopPerS};
  return times;
}

}  // namespace thresher::gpu::sm80
