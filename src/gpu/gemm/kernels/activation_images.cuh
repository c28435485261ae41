// SPDX-License-Identifier: Apache-2.0
// The prologue: activations become the images that the GEMM fetches as they are.
//
// An image holds a tile's tokens x 64 k in 16 bits, in the 128-byte swizzle: token r has the 128
// bytes at 128 * r, in which the 16-byte chunk c stands at place c ^ (r % 8). Images of a group lie
// one after the other: by token tile, then along k; groups follow each other. Tokens beyond the
// group's and k beyond the matrix are zeros.
//
// NVFP4 becomes fp16 (nvfp4_chunk.cuh); fp16 and bf16 values are copied.
//
// A warp does 256 k of four tokens at a time: a thread loads what becomes one chunk of each, and
// then writes four chunks, so that loads and stores of a warp are contiguous.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/image_config.hpp"
#include "gpu/gemm/kernels/image_tasks.cuh"
#include "gpu/gemm/kernels/nvfp4_chunk.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// What a chunk (8 values) is made from, as it is loaded; `index` counts chunks of the group.
struct Nvfp4Chunk {
  u32 codes = 0;
  u32 scale = 0;

  static THRESHER_DEVICE Nvfp4Chunk load(const ImageTask& task, u64 index) {
    return {hw::load_global(reinterpret_cast<const u32*>(task.values) + index),
            hw::load_global(reinterpret_cast<const u8*>(task.scales) + index / 2)};
  }

  THRESHER_DEVICE U32x4 values() const { return decode_chunk(codes, scale_factor(scale)); }
};

struct WideChunk {
  U32x4 copied;

  static THRESHER_DEVICE WideChunk load(const ImageTask& task, u64 index) {
    return {hw::load_global(reinterpret_cast<const U32x4*>(task.values) + index)};
  }

  THRESHER_DEVICE U32x4 values() const { return copied; }
};

template <ActivationType kActivations>
struct ChunkOf {
  using Type = WideChunk;
};
template <>
struct ChunkOf<ActivationType::kNvfp4> {
  using Type = Nvfp4Chunk;
};

// A lane's chunk of each of a task's tokens, between its loads and its stores: those of several
// tasks can be on their way.
template <ActivationType kActivations>
class ImagePiece {
 public:
  THRESHER_DEVICE void load(u8* images, const ImageTask& task) {
    const u32 chunk = task.first_chunk + static_cast<u32>(hw::lane_index());
    // Tokens and k end before images do.
    exists_ = task.width > 0 && chunk < round_up(task.chunks_per_row, kChunksPerTile);
    const u32 tokens = chunk < task.chunks_per_row ? task.tokens : 0;
    THRESHER_UNROLL
    for (u32 i = 0; i < kImageTaskTokens; ++i) {
      if (i >= tokens) continue;
      loaded_[i] = Chunk::load(task, task.first_index + u64{i} * task.chunks_per_row + chunk);
    }
    const u32 k_tile = static_cast<u32>(hw::lane_index()) / kChunksPerTile;
    at_ = images + (u64{task.image_row} + k_tile * task.width) * kImageRowBytes;
    place_ = chunk % kChunksPerTile ^ task.row_in_tile;
  }

  THRESHER_DEVICE void store() const {
    if (!exists_) return;
    THRESHER_UNROLL
    for (u32 i = 0; i < kImageTaskTokens; ++i) {
      // A task's first row is a multiple of 4: adding i to it sets bits that it does not have.
      hw::store_global(reinterpret_cast<U32x4*>(at_ + i * kImageRowBytes + (place_ ^ i) * 16),
                       loaded_[i].values());
    }
  }

 private:
  using Chunk = typename ChunkOf<kActivations>::Type;

  Chunk loaded_[kImageTaskTokens] = {};
  u8* at_ = nullptr;  // the image's row of the first token
  u32 place_ = 0;     // of the chunk in that row
  bool exists_ = false;
};

// Makes task `first` and every `step`th after it. By a warp together, which has kPieces of them on
// their way at a time.
template <ImageConfig kConfig, int kPieces>
THRESHER_DEVICE void make_images(const ImageArgs& args, ImageTasks<kConfig.cut>& tasks, u32 first,
                                 u32 step) {
  constexpr u32 kCount = static_cast<u32>(kPieces);
  for (u32 task = first;; task += kCount * step) {
    const ImageTask own = tasks.find(task + static_cast<u32>(hw::lane_index()) % kCount * step);
    if (hw::ballot(own.width > 0) == 0) return;
    ImagePiece<kConfig.activations> pieces[kPieces];
    THRESHER_UNROLL
    for (int i = 0; i < kPieces; ++i) pieces[i].load(args.images, own.of_lane(i));
    THRESHER_UNROLL
    for (int i = 0; i < kPieces; ++i) pieces[i].store();
    hw::sync_warp();
  }
}

// Tasks are dealt out to the warps in turn.
template <ImageConfig kConfig>
THRESHER_DEVICE void image_kernel(const ImageArgs& args) {
  // The GEMM looks for its weights by the token counts as soon as it starts.
  wait_for_counts(args.table, args.group_count);
  hw::start_next_kernel();

  const u32 warps_per_block = static_cast<u32>(hw::thread_count() / hw::kWarpThreads);
  const u32 warp_count = warps_per_block * static_cast<u32>(hw::block_count());
  ImageTasks<kConfig.cut> tasks(args.table, args.group_count);
  hw::wait_for_previous_kernel();
  make_images<kConfig, 1>(args, tasks,
                          static_cast<u32>(hw::block_index()) * warps_per_block + hw::warp_index(),
                          warp_count);
}

}  // namespace thresher::gpu
