// SPDX-License-Identifier: Apache-2.0
// Grouped NVFP4 GEMM and dual GEMM for sm_90a: weights from registers, tokens from shared memory.
//
// C[g] (m x n, row-major) = A[g] (m x k) * B[g]^T (n x k), or the gated dual of it (gemm_config.hpp
// has the products). The MMA computes C transposed: its rows are rows of weights, its columns are
// tokens, so a group of few tokens wastes little.
//
// Inputs: weights packed as in weight_layout.hpp, activations as images from activation_images.cuh.
// Roles: one thread fills the stages (gemm_loader.cuh), one or two warpgroups decode and multiply
// (gemm_multiply.cuh) and finish their part of the tile (gemm_values.cuh, store_*.cuh). Blocks stay
// and walk the tiles of all groups (tile_walk.cuh); the loader runs ahead across tiles.
// Limits: k a multiple of 16; any n; any number of tokens per group, none included.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_args.hpp"
#include "gpu/kernels/gemm_config.hpp"
#include "gpu/kernels/gemm_loader.cuh"
#include "gpu/kernels/gemm_multiply.cuh"
#include "gpu/kernels/gemm_values.cuh"
#include "gpu/kernels/split_sums.cuh"
#include "gpu/kernels/stage_ring.cuh"
#include "gpu/kernels/store_direct.cuh"
#include "gpu/kernels/store_staged.cuh"
#include "gpu/kernels/tile_walk.cuh"

namespace thresher::gpu {

template <GemmConfig kConfig>
struct StoreOf {
  using Type = StoreDirect<kConfig>;
};
template <GemmConfig kConfig>
requires(kConfig.store == Store::kStaged) struct StoreOf<kConfig> {
  using Type = StoreStaged<kConfig>;
};

// A consumer warpgroup: all tiles of the block, from the first stage to the last store.
template <GemmConfig kConfig, typename AfterRelease>
THRESHER_DEVICE void consume(const GemmArgs& args, const StageRing<kConfig>& ring,
                             const AfterRelease& after_release) {
  Multiply<kConfig> multiply(ring);
  using StoreTile = typename StoreOf<kConfig>::Type;
  WalkOf<kConfig> walk(args);
  while (walk.next()) {
    const Tile& tile = walk.tile();
    Sums<kConfig> sums;
    multiply.run(tile.k_tile_count, sums, after_release);
    if (has_parts(kConfig) && tile.part_count > 1) {
      const SplitSums<kConfig> split(args, ring);
      if (!split.deliver(tile, sums)) continue;
      Sums<kConfig> total;
      split.add_parts(tile, total);
      StoreTile(ring.base).store(TileOutput<kConfig>(args, tile, walk.group()), total);
    } else {
      StoreTile(ring.base).store(TileOutput<kConfig>(args, tile, walk.group()), sums);
    }
  }
  StoreTile::finish();
}

// The producer's warpgroup: one of its threads loads, the others are there for their registers.
template <GemmConfig kConfig>
THRESHER_DEVICE void produce(const GemmArgs& args, const StageRing<kConfig>& ring) {
  constexpr int kProducerWarp = consumer_threads(kConfig) / hw::kWarpThreads;
  if (hw::warp_index() != kProducerWarp || !hw::elect_one()) return;
  GemmLoader<kConfig> loader(args, ring);
  while (loader.load_next()) {
  }
  hw::start_next_kernel();
}

template <GemmConfig kConfig>
THRESHER_DEVICE void run_specialised(const GemmArgs& args, const StageRing<kConfig>& ring) {
  constexpr int kConsumerRegisters = consumer_registers(kConfig);
  if (hw::thread_index() >= consumer_threads(kConfig)) {
    if constexpr (kConsumerRegisters > 0) hw::registers_shrink<kProducerRegisters>();
    produce<kConfig>(args, ring);
  } else {
    if constexpr (kConsumerRegisters > 0) hw::registers_grow<kConsumerRegisters>();
    consume<kConfig>(args, ring, [] {});
  }
}

// Everybody consumes, and thread 0 refills each stage as soon as all have let go of it.
template <GemmConfig kConfig>
THRESHER_DEVICE void run_unspecialised(const GemmArgs& args, const StageRing<kConfig>& ring) {
  GemmLoader<kConfig> loader(args, ring);
  const auto refill = [&loader] {
    if (hw::thread_index() == 0) loader.load_next();
    hw::sync_warp();
  };
  for (int stage = 0; stage < kConfig.stages; ++stage) refill();
  consume<kConfig>(args, ring, refill);
}

template <GemmConfig kConfig>
THRESHER_DEVICE void gemm_kernel(const GemmArgs& args) {
  const StageRing<kConfig> ring{hw::shared_base()};
  ring.init();
  hw::wait_for_previous_kernel();
  if constexpr (kConfig.specialised) {
    run_specialised<kConfig>(args, ring);
  } else {
    run_unspecialised<kConfig>(args, ring);
  }
}

}  // namespace thresher::gpu
