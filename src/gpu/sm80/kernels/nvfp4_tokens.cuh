// SPDX-License-Identifier: Apache-2.0
// NVFP4 tokens on their way to the MMAs: a thread loads blocks of 16 codes with their scale, holds
// them in registers while a k tile is multiplied, and then writes them, decoded to fp16, into the
// image of the next k tile. There are two images, one being read and one being written.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/sm80/kernels/stage_loader.cuh"
#include "gpu/sm80/kernels/tile_queue.cuh"
#include "gpu/sm90/kernels/nvfp4_chunk.cuh"

namespace thresher::gpu::sm80 {

template <GemmConfig kConfig>
class Nvfp4Tokens {
 public:
  THRESHER_DEVICE Nvfp4Tokens(const TileQueue<kConfig>& queue, hw::SharedAddress shared)
      : queue_(queue),
        image_(shared + shared_layout(kConfig).images),
        row_(static_cast<u32>(hw::thread_index()) / sm90::kStepsPerTile),
        block_(static_cast<u32>(hw::thread_index()) % sm90::kStepsPerTile) {}

  // By all threads: asks for the next k tile, if there is one.
  THRESHER_DEVICE void load() {
    if (k_tiles_left_ == 0 && !done_) begin_tile();
    if (done_) return;
    THRESHER_UNROLL
    for (u32 i = 0; i < kBlocks; ++i) {
      const u32 row = row_ + i * kRows;
      codes_[i] = {};
      scales_[i] = 0;
      if (row >= token_count_ || row >= kConfig.tokens || blocks_left_ <= 0) continue;
      const u64 index = first_block_ + u64{i} * kRows * blocks_per_row_;
      codes_[i] = hw::load_global(reinterpret_cast<const U32x2*>(codes_from_) + index);
      scales_[i] = hw::load_global(scales_from_ + index);
    }
    first_block_ += sm90::kStepsPerTile;
    blocks_left_ -= sm90::kStepsPerTile;
    --k_tiles_left_;
  }

  // By all threads, after a load: what it brought becomes the image that is not being read.
  THRESHER_DEVICE void store() {
    if (done_) return;
    const hw::SharedAddress image = image_ + written_ * sm90::image_bytes(kConfig.tokens);
    THRESHER_UNROLL
    for (u32 i = 0; i < kBlocks; ++i) {
      const u32 row = row_ + i * kRows;
      if (row >= width_) continue;
      const u32 factor = sm90::scale_factor(scales_[i]);
      hw::store_shared(image + chunk_place(row, 2 * block_),
                       sm90::decode_chunk(codes_[i].x, factor));
      hw::store_shared(image + chunk_place(row, 2 * block_ + 1),
                       sm90::decode_chunk(codes_[i].y, factor));
    }
    written_ ^= 1;
  }

 private:
  // Rows that the threads take at a time, four threads each, and how often they do.
  static constexpr u32 kRows = static_cast<u32>(consumer_threads(kConfig)) / sm90::kStepsPerTile;
  static constexpr u32 kBlocks = divide_up(static_cast<u32>(kConfig.tokens), kRows);

  THRESHER_DEVICE void begin_tile() {
    const QueuedTile<kConfig> queued = queue_.read(tile_number_);
    done_ = !queued.exists();
    if (done_) return;
    ++tile_number_;
    k_tiles_left_ = queued.tile.k_tile_count;
    width_ = queued.tile.width;
    const u32 left = queued.group.token_count - queued.tile.first_token;
    token_count_ = left < width_ ? left : width_;
    blocks_per_row_ = queued.group.k / sm90::kStepK;
    const u32 block = queued.tile.first_k_tile * sm90::kStepsPerTile + block_;
    blocks_left_ = static_cast<i32>(blocks_per_row_) - static_cast<i32>(block);
    first_block_ = (u64{queued.tile.first_token} + row_) * blocks_per_row_ + block;
    codes_from_ = queued.activations;
    scales_from_ = queued.scales;
  }

  const TileQueue<kConfig>& queue_;
  const hw::SharedAddress image_;
  const u32 row_;    // the first
  const u32 block_;  // of a row's four
  U32x2 codes_[kBlocks];
  u8 scales_[kBlocks];
  const u8* codes_from_ = nullptr;
  const u8* scales_from_ = nullptr;
  u64 first_block_ = 0;
  u32 blocks_per_row_ = 0;
  i32 blocks_left_ = 0;  // of the rows, from this one on
  u32 width_ = 0;
  u32 token_count_ = 0;
  u32 k_tiles_left_ = 0;
  u32 tile_number_ = 0;
  u32 written_ = 0;
  bool done_ = false;
};

// Tokens of 16 bits come with the weights (stage_loader.cuh).
struct NoNvfp4Tokens {
  template <typename... Args>
  THRESHER_DEVICE explicit NoNvfp4Tokens(const Args&...) {}
  THRESHER_DEVICE void load() {}
  THRESHER_DEVICE void store() {}
};

template <GemmConfig kConfig>
struct DecodedTokensOf {
  using Type = NoNvfp4Tokens;
};
template <GemmConfig kConfig>
requires(kConfig.activations == sm90::ActivationType::kNvfp4) struct DecodedTokensOf<kConfig> {
  using Type = Nvfp4Tokens<kConfig>;
};

}  // namespace thresher::gpu::sm80
