// SPDX-License-Identifier: Apache-2.0
// The model of time of the kernels: tiles with their padding and decoding, waves of them over
// the SMs, the bytes of the prologue and of the passes, launches. Stages and roles are outside it.
// The engine chooses by it, and the sharks forecast with it. No clock.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "gpu/gemm/plan_extents.hpp"
#include "gpu/gemm/variant.hpp"

namespace thresher::gpu {

// What computes beside a block.
struct Company {
  std::int64_t busy_sms = 1;  // that share the L2
  int blocks_on_sm = 1;       // with itself
};

// What tiles of an architecture take of an SM, in nanoseconds.
struct TileTimes {
  // A k tile of such a width.
  double (*k_tile)(const GemmConfig& config, int width, const Company& company) = nullptr;
  double finish = 0;  // per tile of 256 rows
  double parts = 0;   // per block and part, for the widest tiles of 256 rows
  double parts_least = 0;
  double plain_wait = 0;  // of the baseline, which waits for every k tile to arrive
  double prologue = 0;    // until a GEMM whose tokens a kernel before it prepares begins
  // Where the numbers hold; another device is as much faster or slower as its rate.
  double at_gop_per_s = 0;
};

// Rows of weights that a tile multiplies: half of those it loads in a pass over dual weights.
inline int multiplied_rows(const GemmConfig& config) {
  return strips_per_warpgroup(config) * kSubTileRows * config.consumer_warpgroups;
}

// The groups of a launch in tiles of one shape, and what these take of an SM's time.
//
// What a k tile takes depends on its rows and width: decoding the weights, whatever the width, and
// multiplying; with few rows, fetching images from the L2. Whole tiles are dealt out in turn, and
// the fullest block decides; equal stretches of all work are fuller, but parts of tiles have to be
// added up.
class Tiling {
 public:
  Tiling(std::span<const Group> groups, GemmKind kind, const GemmConfig& config,
         const SmLimits& limits, const TileTimes& times);

  // Nanoseconds of each block's work.
  std::vector<double> block_ns() const;
  // Until the last block is done, if nothing runs beside it.
  double span_ns() const;

  std::int64_t tile_count() const { return tile_count_; }

 private:
  struct Lot {
    TokenTiles tiles;
    std::int64_t row_tiles = 0;
    std::int64_t k_tiles = 0;
  };

  std::vector<double> walker_ns() const;  // of blocks, or of those that walk as one
  Company company() const;
  double tile_ns(std::int64_t k_tiles, int width) const;
  std::vector<double> in_turn_ns() const;
  double mean_ns() const;
  double parts_ns() const;
  std::int64_t piece_count() const { return tile_count_ * config_.split_k; }

  const TileTimes& times_;
  GemmKind kind_;
  GemmConfig config_;
  int rows_;  // of weights that a tile multiplies on an SM
  // SMs, or where blocks compute a tile together, so many SMs each.
  std::int64_t sms_;
  std::vector<Lot> lots_;
  std::int64_t tile_count_ = 0;
};

// `variant` must support `problem` on `machine`.
ModelledRun modelled_run(const Problem& problem, const Variant& variant, const Machine& machine,
                         const TileTimes& times);

}  // namespace thresher::gpu
