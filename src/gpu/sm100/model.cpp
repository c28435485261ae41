// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm100/model.hpp"

#include <algorithm>

#include "gpu/sm100/kernels/tensor_layout.hpp"

namespace thresher::gpu::sm100 {
namespace {

constexpr double kMultiplyAddsPerNs = kGopPerS / kSms / 2;

// Of 64 k, as the other kernels' tiles: MMAs and what is fetched go on beside each other.
double k_tile_ns(const GemmConfig& config, int width, const Company& company) {
  const double products = products_per_tile(config.product);
  // Blocks that share weights bring half of them each, and have half of the tokens.
  const int sharers = shares_weights(config) ? blocks_per_tile(config) : 1;
  const double own_width = static_cast<double>(width) / sharers;
  // Of a pair's columns each block reads half.
  const double read = kColumnsToReadA + own_width / 2 / blocks_per_mma(config);
  const double columns = std::max(own_width, read);
  const double multiply = products * kTileRows * columns * hw::kBlockScaledK / kMultiplyAddsPerNs;
  // Of a pair's tokens a block has half of the codes, and all scales.
  const double of_token = 32.0 / blocks_per_mma(config) + 4;
  const double bytes = products * kTileBytes / kStepsPerTile / sharers + own_width * of_token;
  const double fetched = bytes * static_cast<double>(company.busy_sms) / kL2BytesPerNs;
  return std::max(multiply, fetched) + kOverheadNs;
}

}  // namespace

const TileTimes& tile_times() {
  static const TileTimes times{.k_tile = k_tile_ns,
                               .finish = 2000,
                               .parts = 4000,
                               .parts_least = 2000,
                               .at_gop_per_s = kGopPerS};
  return times;
}

}  // namespace thresher::gpu::sm100
