// SPDX-License-Identifier: Apache-2.0
// The rule, in words: of all tile shapes, and of both schedules, take the one that should be done
// first. What a k tile takes depends on its rows and width: decoding the weights, whatever the
// width, and multiplying; with few rows, fetching images from the L2. Whole tiles are dealt out in
// turn, and the fullest block decides; equal stretches of all work are fuller, but parts of tiles
// have to be added up. The times were fitted to an H200 and matter only in relation to each other.
#include "gpu/sm90/choose.hpp"

#include <algorithm>
#include <vector>

#include "gpu/sm90/plan_extents.hpp"

namespace thresher::gpu::sm90 {
namespace {

constexpr int kTokenChoices[] = {8, 16, 32, 48, 64, 80, 96, 112, 128};
constexpr int kRowChoices[] = {128, 256};

// Nanoseconds.
constexpr double kL2BytesPerNs = 6800;  // that all SMs together get
constexpr double kFinish = 1500;        // per tile of 256 rows
constexpr double kParts = 5000;         // per block and part, for the widest tiles of 256 rows
constexpr double kPartsLeast = 3000;
constexpr double kWorthParts = 0.98;
constexpr int kPartsTokens = 32;  // of other widths the compiler cannot keep all parts' sums
// Beyond so many tiles per block the fullest is as good as the mean.
constexpr std::int64_t kTilesCounted = 64;

double k_tile_time(int rows, int width, std::int64_t busy_blocks) {
  const double compute = rows == 256 ? 250 + 3.0 * width : std::max(230.0, 165 + 1.5 * width);
  const double bytes = image_bytes(width) + rows / kTileRows * kTileBytes;
  return std::max(compute, bytes * static_cast<double>(busy_blocks) / kL2BytesPerNs);
}

// The problem in tiles of one shape.
class Tiling {
 public:
  Tiling(const Problem& problem, std::int64_t mean, int tokens, int rows, std::int64_t sms)
      : sms_(sms), rows_(rows), tokens_(tokens) {
    const int columns = problem.op == Op::kDual ? rows / 2 : rows;
    const bool counted = token_count(problem) > 0;
    for (const Group& group : problem.groups) {
      const auto m = static_cast<u32>(counted ? group.m : mean);
      const TokenTiles tiles = cut_tokens({.tokens = tokens}, m);
      lots_.push_back({tiles, divide_up(group.n, columns), divide_up(group.k, kTileK)});
      tile_count_ += lots_.back().row_tiles * tiles.count;
    }
  }

  double time_in_turn() const {
    if (tile_count_ > sms_ * kTilesCounted) return mean_time();
    std::vector<double> blocks(static_cast<std::size_t>(busy_blocks()));
    std::size_t block = 0;
    for_each_tile([&](double time) {
      blocks[block] += time;
      block = (block + 1) % blocks.size();
    });
    return blocks.empty() ? 0 : *std::max_element(blocks.begin(), blocks.end());
  }

  double time_balanced() const {
    const double share = rows_ * tokens_ / (256.0 * 128.0);
    const double parts = 1 + static_cast<double>(sms_) / static_cast<double>(tile_count_);
    return mean_time() + std::max(kParts * share, kPartsLeast) * parts;
  }

 private:
  struct Lot {
    TokenTiles tiles;
    std::int64_t row_tiles;
    std::int64_t k_tiles;
  };

  std::int64_t busy_blocks() const { return std::min(tile_count_, sms_); }

  double tile_time(const Lot& lot, u32 token_tile) const {
    const int width = static_cast<int>(lot.tiles.width_of(token_tile));
    return static_cast<double>(lot.k_tiles) * k_tile_time(rows_, width, busy_blocks()) +
           kFinish * rows_ / 256;
  }

  template <typename Take>
  void for_each_tile(const Take& take) const {
    for (const Lot& lot : lots_) {
      for (u32 i = 0; i < lot.tiles.count; ++i) {
        for (std::int64_t row_tile = 0; row_tile < lot.row_tiles; ++row_tile) {
          take(tile_time(lot, i));
        }
      }
    }
  }

  double mean_time() const {
    double total = 0;
    for (const Lot& lot : lots_) {
      for (u32 i = 0; i < lot.tiles.count; ++i) {
        total += tile_time(lot, i) * static_cast<double>(lot.row_tiles);
      }
    }
    return total / static_cast<double>(sms_);
  }

  std::int64_t sms_;
  int rows_;
  int tokens_;
  std::vector<Lot> lots_;
  std::int64_t tile_count_ = 0;
};

// Groups that have tokens. Without their counts, as if all had the same.
std::int64_t busy_count(const Problem& problem) {
  const std::int64_t busy = std::count_if(problem.groups.begin(), problem.groups.end(),
                                          [](const Group& group) { return group.m > 0; });
  return busy > 0 ? busy : static_cast<std::int64_t>(problem.groups.size());
}

// A tile shape with what suits it.
GemmKnobs knobs_for(int tokens, int rows) {
  const bool wide = tokens >= 64;
  GemmKnobs knobs;
  knobs.tokens = tokens;
  knobs.weight_rows = rows;
  // What registers allow, and in between what was faster.
  knobs.fragment_steps = rows == 256 && (tokens >= 64 || tokens <= 16) ? 2 : 4;
  knobs.store = wide ? Store::kVectors : Store::kDirect;
  knobs.stages = tokens > 64 ? (rows == 256 ? 6 : 7) : 8;
  // A prologue of its own pays where the GEMM's blocks fit beside it and have little else to do.
  knobs.prologue = tokens == 16 ? Prologue::kKernel : Prologue::kInside;
  return knobs;
}

std::vector<GemmKnobs> shapes() {
  std::vector<GemmKnobs> all;
  for (const int tokens : kTokenChoices) {
    for (const int rows : kRowChoices) all.push_back(knobs_for(tokens, rows));
  }
  return all;
}

bool may_have_parts(const GemmKnobs& knobs) { return knobs.tokens % kPartsTokens == 0; }

}  // namespace

std::vector<Variant> choices() {
  std::vector<Variant> all;
  for (GemmKnobs knobs : shapes()) {
    all.push_back({.knobs = knobs});
    knobs.schedule = Schedule::kBalanced;
    if (may_have_parts(knobs)) all.push_back({.knobs = knobs});
  }
  return all;
}

Variant choose(const Problem& problem, std::int64_t token_limit, const DeviceLimits& limits) {
  const std::int64_t mean =
      problem.groups.empty() ? 0 : divide_up(token_limit, busy_count(problem));
  const PlanRequest request{problem, token_limit, limits};
  // What does not fit (floats take more room to be staged) or cannot be counted is passed over; the
  // default is what is left if everything is.
  Variant best;
  double best_time = -1;
  for (GemmKnobs knobs : shapes()) {
    const Tiling tiling(problem, mean, knobs.tokens, knobs.weight_rows, limits.sm_count);
    double time = tiling.time_in_turn();
    const double balanced = tiling.time_balanced();
    if (may_have_parts(knobs) && balanced < kWorthParts * time) {
      knobs.schedule = Schedule::kBalanced;
      time = balanced;
    }
    if (best_time >= 0 && time >= best_time) continue;
    if (!why_not(knobs, request).empty()) continue;
    best.knobs = knobs;
    best_time = time;
  }
  return best;
}

}  // namespace thresher::gpu::sm90
