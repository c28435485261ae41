// SPDX-License-Identifier: Apache-2.0
// Parts of a tile along k meet in the workspace, as other GPUs' do
// (gpu/gemm/kernels/split_sums.cuh): whoever comes last adds them up, always in the order of the
// parts, so that the result does not depend on who that is. Its own part it takes from tensor
// memory. Of a pair of blocks each has its own rows, and parts and counters of its own.
#pragma once

#include "gpu/gemm/kernels/part_counter.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/tensor_ring.cuh"

namespace thresher::gpu::sm100 {

// Of the warps that store, among the block's named barriers.
inline constexpr int kStoreBarrier = 1;
inline constexpr int kStoreThreads = kStoreWarps * hw::kWarpThreads;

template <GemmConfig kConfig>
class PartSums {
 public:
  THRESHER_DEVICE PartSums(const GemmArgs& args, const TensorRing<kConfig>& ring)
      : args_(args), flag_(ring.flag()) {}

  // By the warps that store together, when their part is computed. True: it came last, all others
  // are in the workspace, and the tile is theirs to finish.
  THRESHER_DEVICE bool arrive(const Tile& tile) const {
    if (tile.part_count == 1) return true;
    sync();  // the flag has been read, of the tile before
    if (hw::thread_index() == 0) hw::store_shared(flag_, counter(tile).arrive());
    sync();
    const u32 found = hw::load_shared<u32>(flag_);
    if (!PartCounter::came_last(found, tile.part_count)) return false;
    if (hw::thread_index() == 0) counter(tile).wait_for_others(found, tile.part_count);
    sync();
    return true;
  }

  // The thread's sums of the part, of tokens from `token` on.
  template <int kTokens>
  THRESHER_DEVICE void store(const Tile& tile, u32 product, u32 token,
                             const float (&sums)[kTokens]) const {
    float* to = place(tile, tile.part, product, token);
    THRESHER_UNROLL
    for (u32 i = 0; i < kTokens; ++i) hw::store_global(to + i * kTileRows, sums[i]);
  }

  // Behind all of them.
  THRESHER_DEVICE void deliver(const Tile& tile) const {
    sync();
    if (hw::thread_index() == 0) counter(tile).deliver();
  }

  // From the own part's to those of the whole tile.
  template <int kTokens>
  THRESHER_DEVICE void add(const Tile& tile, u32 product, u32 token, float (&sums)[kTokens]) const {
    if (tile.part_count == 1) return;
    float before[kTokens] = {};
    THRESHER_NO_UNROLL
    for (u32 part = 0; part < tile.part; ++part) add_part(tile, part, product, token, before);
    THRESHER_UNROLL
    for (u32 i = 0; i < kTokens; ++i) sums[i] = before[i] + sums[i];
    THRESHER_NO_UNROLL
    for (u32 part = tile.part + 1; part < tile.part_count; ++part) {
      add_part(tile, part, product, token, sums);
    }
  }

 private:
  static THRESHER_DEVICE void sync() { hw::sync_named(kStoreBarrier, kStoreThreads); }

  template <int kTokens>
  THRESHER_DEVICE void add_part(const Tile& tile, u32 part, u32 product, u32 token,
                                float (&sums)[kTokens]) const {
    const float* from = place(tile, part, product, token);
    float loaded[kTokens];
    THRESHER_UNROLL
    for (u32 i = 0; i < kTokens; ++i) loaded[i] = hw::load_global_coherent(from + i * kTileRows);
    THRESHER_UNROLL
    for (u32 i = 0; i < kTokens; ++i) sums[i] += loaded[i];
  }

  THRESHER_DEVICE u64 of_block(u32 of_tile) const {
    return u64{of_tile} * TensorRing<kConfig>::kBlocks + TensorRing<kConfig>::rank();
  }
  THRESHER_DEVICE PartCounter counter(const Tile& tile) const {
    return {args_.counters + of_block(tile.counter)};
  }
  // The thread's column of a token; a warp's are neighbours.
  THRESHER_DEVICE float* place(const Tile& tile, u32 part, u32 product, u32 token) const {
    return args_.partials + of_block(tile.slot(part)) * partial_elements(kConfig) +
           u64{product * kConfig.tokens + token} * kTileRows + static_cast<u32>(hw::thread_index());
  }

  const GemmArgs& args_;
  const hw::SharedAddress flag_;
};

}  // namespace thresher::gpu::sm100
