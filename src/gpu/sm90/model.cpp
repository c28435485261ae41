// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/model.hpp"

#include <algorithm>

namespace thresher::gpu::sm90 {
namespace {

// Beside those of kernels/tile_time.hpp. The numbers were fitted to an H200.
constexpr double kL2BytesPerNs = 6800;  // that all SMs together get

// Decoding a k tile and its MMAs. 64 rows, which only a pass of a single warpgroup over dual
// weights has, are charged like 128: no times were fitted for them, and the engine chooses among no
// passes.
double compute_ns(int rows, int width) {
  if (rows == 256) return kDecodeNs + kEightColumnsNs / 8 * width;
  if (rows == 192) return kDecodeNsOf192 + kEightColumnsNsOf192 / 8 * width;
  return std::max(230.0, 165 + 1.5 * width);
}

// Rows of a pass over dual weights are loaded all and decoded by halves.
double k_tile_ns(const GemmConfig& config, int width, const Company& company) {
  const double tile_count = static_cast<double>(config.weight_rows) / kTileRows;
  const double bytes = image_bytes(width) + tile_count * kTileBytes;
  return std::max(compute_ns(multiplied_rows(config), width),
                  bytes * static_cast<double>(company.busy_sms) / kL2BytesPerNs);
}

}  // namespace

const TileTimes& tile_times() {
  static const TileTimes times{.k_tile = k_tile_ns,
                               .finish = 1500,
                               .parts = 5000,
                               .parts_least = 3000,
                               .plain_wait = 800,
                               .at_gop_per_s = 824546};
  return times;
}

}  // namespace thresher::gpu::sm90
