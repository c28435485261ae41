// SPDX-License-Identifier: Apache-2.0
// Grouped NVFP4 GEMM and dual GEMM for sm_90a: weights from registers, tokens from shared memory.
//
// C[g] (m x n, row-major) = A[g] (m x k) * B[g]^T (n x k), or the gated dual of it (gemm_config.hpp
// has the products). The MMA computes C transposed: its rows are rows of weights, its columns are
// tokens, so a group of few tokens wastes little.
//
// Inputs: weights packed as in weight_layout.hpp, activations as images from activation_images.cuh,
// or as they are, to be made into images first (image_shares.cuh).
// Roles: one thread fills the stages (gemm_loader.cuh), one to four warpgroups decode and multiply
// (gemm_multiply.cuh) and finish their part of the tile (gemm_values.cuh, store_*.cuh). Blocks stay
// and walk the tiles of all groups (tile_walk.cuh); the loader runs ahead across tiles.
// Limits: k a multiple of 16; any n; any number of tokens per group, none included.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/gemm/kernels/split_sums.cuh"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/store_of.cuh"
#include "gpu/gemm/kernels/tile_walk.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm90/kernels/gemm_loader.cuh"
#include "gpu/sm90/kernels/gemm_multiply.cuh"
#include "gpu/sm90/kernels/image_shares.cuh"

namespace thresher::gpu::sm90 {

// A consumer warpgroup: all tiles of the block, from the first stage to the last store.
template <GemmConfig kConfig, typename AfterRelease>
class Consumer {
 public:
  THRESHER_DEVICE Consumer(const GemmArgs& args, const StageRing<kConfig>& ring,
                           const AfterRelease& after_release)
      : args_(args),
        ring_(ring),
        after_release_(after_release),
        multiply_(ring),
        walk_(args, ring.book()) {}

  THRESHER_DEVICE void run() {
    // The first tile is found while the kernel before still runs.
    bool has_tile = walk_.next();
    hw::wait_for_previous_kernel();
    for (; has_tile; has_tile = walk_.next()) {
      compute_tile<kCut.narrowest()>(hw::broadcast(walk_.tile().width));
    }
    StoreTile::finish();
  }

 private:
  using StoreTile = typename StoreOf<kConfig>::Type;
  static constexpr TokenCut kCut = token_cut(kConfig);

  // Finds the main loop of the tile's width, from kWidth on. The choice is made once per tile:
  // inside the loop it would make the compiler wait for each MMA before the next.
  template <int kWidth>
  THRESHER_DEVICE void compute_tile(u32 width) {
    if constexpr (kWidth < kConfig.tokens) {
      if (width != kWidth) return compute_tile<kWidth + kCut.step()>(width);
    }
    compute_tile_of<kWidth>();
  }

  template <int kWidth>
  THRESHER_DEVICE void compute_tile_of() {
    const Tile& tile = walk_.tile();
    Sums<kConfig, kWidth> sums;
    const bool is_part = has_parts(kConfig) && tile.part_count > 1;
    multiply_.begin(tile.row_tile);
    multiply_.template run<kWidth>(tile.k_tile_count, sums, after_release_, [&] {
      if (is_part) SplitSums<kConfig>(args_, ring_.base).arrive(tile);
    });
    if (is_part) {
      if (!SplitSums<kConfig>(args_, ring_.base).template gather<kWidth>(tile, sums)) return;
    }
    if constexpr (has_parts(kConfig)) {
      // Or the compiler begins to finish sums while parts are still being added, and spills.
      THRESHER_UNROLL
      for (int strip = 0; strip < strips_per_warpgroup(kConfig); ++strip) hw::hide(sums[strip]);
    }
    const TileOutput<kConfig> output(args_, tile, walk_.group());
    StoreTile(ring_.base).template store<kWidth>(output, sums);
  }

  const GemmArgs& args_;
  const StageRing<kConfig>& ring_;
  const AfterRelease& after_release_;
  Multiply<kConfig> multiply_;
  WalkOf<kConfig, Walker::kWarp> walk_;
};

template <GemmConfig kConfig, typename AfterRelease>
THRESHER_DEVICE void consume(const GemmArgs& args, const StageRing<kConfig>& ring,
                             const AfterRelease& after_release) {
  Consumer<kConfig, AfterRelease>(args, ring, after_release).run();
}

// The producer's warpgroup: one warp sets the ring up, another writes the book of where groups
// begin (group_book.cuh), and then one thread loads. The other warps are there for their registers.
// The consumers meanwhile do what they can without ring and book, and meet the producers, who do
// not wait for them, before they look at either.
template <GemmConfig kConfig>
THRESHER_DEVICE void produce(const GemmArgs& args, const StageRing<kConfig>& ring) {
  constexpr int kWarp = consumer_threads(kConfig) / hw::kWarpThreads;
  if (hw::warp_index() == kWarp && hw::elect_one()) ring.init();
  if (hw::warp_index() == kWarp + 1) write_book<kConfig>(ring.book(), args);
  hw::sync_named(kProducersBarrier, hw::kWarpgroupThreads);
  hw::arrive_named(kReadyBarrier, thread_count(kConfig));
  if constexpr (consumer_registers(kConfig) > 0) {
    hw::registers_shrink<kProducerRegisters>();
  }
  // Elected here, where the compiler sees that the copies below are one thread's.
  if (hw::warp_index() != kWarp || !hw::elect_one()) return;
  GemmLoader<kConfig> loader(args, ring);
  loader.start();
  while (loader.load_next()) {
  }
  if constexpr (kConfig.prologue == Prologue::kKernel) hw::start_next_kernel();
}

template <GemmConfig kConfig>
THRESHER_DEVICE void run_specialised(const GemmArgs& args, const StageRing<kConfig>& ring) {
  if (hw::thread_index() >= consumer_threads(kConfig)) return produce<kConfig>(args, ring);
  if constexpr (kConfig.prologue == Prologue::kInside) ImageShares<kConfig>(args, ring).make();
  if constexpr (consumer_registers(kConfig) > 0) {
    hw::registers_grow<consumer_registers(kConfig)>();
  }
  hw::sync_named(kReadyBarrier, thread_count(kConfig));
  consume<kConfig>(args, ring, [] {});
}

// Everybody consumes, and thread 0 refills each stage as soon as all have let go of it.
template <GemmConfig kConfig>
THRESHER_DEVICE void run_unspecialised(const GemmArgs& args, const StageRing<kConfig>& ring) {
  if (hw::thread_index() == 0) ring.init();
  constexpr int kBookWarp = thread_count(kConfig) / hw::kWarpThreads - 1;  // not that of thread 0
  if (hw::warp_index() == kBookWarp) write_book<kConfig>(ring.book(), args);
  hw::sync_block();
  GemmLoader<kConfig> loader(args, ring);
  const auto refill = [&loader] {
    if (hw::thread_index() == 0) loader.load_next();
    hw::sync_warp();
  };
  if (hw::thread_index() == 0) loader.start();
  hw::sync_warp();
  consume<kConfig>(args, ring, refill);
}

template <GemmConfig kConfig>
THRESHER_DEVICE void gemm_kernel(const GemmArgs& args) {
  if constexpr (kConfig.prologue != Prologue::kKernel) {
    wait_for_counts(args.table, args.first_group + args.group_count);
  }
  const StageRing<kConfig> ring(hw::shared_base());
  if constexpr (kConfig.specialised) {
    run_specialised<kConfig>(args, ring);
  } else {
    run_unspecialised<kConfig>(args, ring);
  }
}

}  // namespace thresher::gpu::sm90
