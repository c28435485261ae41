// SPDX-License-Identifier: Apache-2.0
// Grouped NVFP4 GEMM and dual GEMM for every GPU since Ampere: cp.async, ldmatrix and mma.sync.
//
// C[g] (m x n, row-major) = A[g] (m x k) * B[g]^T (n x k), or the gated dual of it. As on Hopper
// the MMA computes C transposed, weights on its rows and tokens on its columns, and the packed
// weights, the schedule and the finishing of tiles are those of all GPUs (gpu/gemm/kernels/).
//
// Inputs: weights packed as in weight_layout.hpp, activations as the caller has them.
// No roles: every thread loads its share of each k tile, stages - 1 k tiles ahead and across tiles
// (stage_loader.cuh), decodes NVFP4 tokens (nvfp4_tokens.cuh) and multiplies (warp_multiply.cuh).
// One barrier per k tile tells that its copies are there, and that the stage before is free.
// Limits: k a multiple of 16; any n; any number of tokens per group, none included.
#pragma once

#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/gemm/kernels/split_sums.cuh"
#include "gpu/gemm/kernels/store_of.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm80/kernels/nvfp4_tokens.cuh"
#include "gpu/sm80/kernels/stage_loader.cuh"
#include "gpu/sm80/kernels/tile_queue.cuh"
#include "gpu/sm80/kernels/warp_multiply.cuh"

namespace thresher::gpu::sm80 {

template <GemmConfig kConfig>
class WarpGemm {
 public:
  // The book is written.
  THRESHER_DEVICE WarpGemm(const GemmArgs& args, const GroupBook& book, hw::SharedAddress shared)
      : args_(args),
        shared_(shared),
        queue_(args, book, shared),
        loader_(shared),
        tokens_(shared),
        multiply_(shared) {}

  THRESHER_DEVICE void run() {
    start();
    for (u32 number = 0;; ++number) {
      const Tile tile = queue_.read(number).tile;
      if (tile.k_tile_count == 0) break;
      compute_tile<kCut.narrowest()>(number, hw::broadcast(tile.width), tile.k_tile_count);
    }
    hw::pieces_wait<0>();
  }

 private:
  using StoreTile = typename StoreOf<kConfig>::Type;
  static constexpr TokenCut kCut = token_cut(kConfig);
  static constexpr int kAhead = kConfig.stages - 1;

  // Fills all stages but one. A tile that the loads begin has been written down before a barrier.
  THRESHER_DEVICE void start() {
    if (hw::warp_index() == 0) queue_.push(0);
    hw::sync_block();
    for (int stage = 0; stage < kAhead; ++stage) {
      loader_.load_next(queue_);
      hw::sync_block();
    }
    tokens_.load(queue_);
    tokens_.store();
  }

  // Finds the main loop of the tile's width, from kWidth on.
  template <int kWidth>
  THRESHER_DEVICE void compute_tile(u32 number, u32 width, u32 k_tile_count) {
    if constexpr (kWidth < kConfig.tokens) {
      if (width != kWidth) {
        return compute_tile<kWidth + kCut.step()>(number, width, k_tile_count);
      }
    }
    compute_tile_of<kWidth>(number, k_tile_count);
  }

  template <int kWidth>
  THRESHER_DEVICE void compute_tile_of(u32 number, u32 k_tile_count) {
    Sums<kConfig, kWidth> sums;
    set_to_zero<kConfig, kWidth>(sums);
    for (u32 left = k_tile_count; left > 0; --left) {
      hw::pieces_wait<kAhead - 1>();
      hw::sync_block();
      loader_.load_next(queue_);
      tokens_.load(queue_);
      multiply_.template add<kWidth>(sums);
      tokens_.store();
    }
    finish<kWidth>(queue_.read(number), sums);  // again: the main loop needs the registers
  }

  template <int kWidth>
  THRESHER_DEVICE void finish(const QueuedTile<kConfig>& queued,
                              Sums<kConfig, kWidth>& sums) const {
    if (has_parts(kConfig) && queued.tile.part_count > 1) {
      const SplitSums<kConfig> parts(args_, shared_);
      parts.arrive(queued.tile);
      if (!parts.template gather<kWidth>(queued.tile, sums)) return;
    }
    const TileOutput<kConfig> output(args_, queued.tile, queued.group);
    StoreTile(shared_).template store<kWidth>(output, sums);
  }

  const GemmArgs& args_;
  const hw::SharedAddress shared_;
  TileQueue<kConfig> queue_;
  StageLoader<kConfig> loader_;
  typename DecodedTokensOf<kConfig>::Type tokens_;
  WarpMultiply<kConfig> multiply_;
};

template <GemmConfig kConfig>
THRESHER_DEVICE void gemm_kernel(const GemmArgs& args) {
  static_assert(kConfig.mma == Mma::kWarp && !kConfig.specialised);
  static_assert(kConfig.prologue != Prologue::kInside);
  static_assert(kConfig.store != Store::kStaged);
  const hw::SharedAddress shared = hw::shared_base();
  const GroupBook book{shared + shared_layout(kConfig).book};
  if (hw::warp_index() == 0) write_book<kConfig>(book, args);
  hw::sync_block();
  WarpGemm<kConfig>(args, book, shared).run();
}

}  // namespace thresher::gpu::sm80
