// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm80/model.hpp"

#include <algorithm>

namespace thresher::gpu::sm80 {
namespace {

using sm90::GemmConfig;

// An A100's SM per cycle, as NVIDIA states it.
constexpr double kCyclesPerNs = 1.41;
constexpr double kMultiplyAdds = 1024;  // fp16 with FP32 sums
constexpr double kSharedBytes = 128;
constexpr double kL2Bytes = 5120;      // of all SMs together
constexpr double kInstructions = 128;  // of threads
constexpr double kGopPerS = 311869;    // 108 of them

// Instructions per 8 decoded values: weights in registers, tokens on their way to shared memory.
constexpr double kDecodeWeights = 15;
constexpr double kDecodeTokens = 24;
// A barrier, copies and addresses: what a k tile takes whatever its size.
constexpr double kOverheadCycles = 120;

// Warps decode and multiply in turn and take turns at it; what they do with shared memory and what
// they fetch goes on beside it, and counts where it is longer.
double k_tile_ns(const GemmConfig& config, int width, std::int64_t busy_blocks) {
  const double rows = multiplied_rows(config);
  const double k = sm90::kTileK;
  const double multiply = rows * width * k / kMultiplyAdds;
  const double tokens = config.activations == sm90::ActivationType::kNvfp4 ? width * k : 0;
  const double decode = (kDecodeWeights * rows * k + kDecodeTokens * tokens) / 8 / kInstructions;
  const int warps = consumer_threads(config) / hw::kWarpThreads;
  const double weight_bytes = static_cast<double>(config.weight_rows) / sm90::kTileRows *
                              static_cast<double>(sm90::kTileBytes);
  const double image = sm90::image_bytes(width);
  // Written once, and read by every warp.
  const double shared = (2 * weight_bytes + image * (1 + warps)) / kSharedBytes;
  const double fetched = (weight_bytes + image) * static_cast<double>(busy_blocks) / kL2Bytes;
  return (std::max({multiply + decode, shared, fetched}) + kOverheadCycles) / kCyclesPerNs;
}

}  // namespace

const sm90::TileTimes& tile_times() {
  static const sm90::TileTimes times{.k_tile = k_tile_ns,
                                     .finish = 2500,
                                     .parts = 6000,
                                     .parts_least = 3000,
                                     .at_gop_per_s = kGopPerS};
  return times;
}

}  // namespace thresher::gpu::sm80
