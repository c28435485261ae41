// SPDX-License-Identifier: Apache-2.0
// NVFP4 tokens on their way to the MMAs: a thread loads blocks of 16 codes with their scale, holds
// them in registers while a k tile is multiplied, and then writes them, decoded to fp16, into the
// image of the next k tile. There are two images, one being read and one being written.
#pragma once

#include "gpu/gemm/kernels/nvfp4_chunk.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm80/kernels/stage_loader.cuh"
#include "gpu/sm80/kernels/tile_queue.cuh"

namespace thresher::gpu::sm80 {

template <GemmConfig kConfig>
class Nvfp4Tokens {
 public:
  THRESHER_DEVICE explicit Nvfp4Tokens(hw::SharedAddress shared)
      : image_(shared + shared_layout(kConfig).images),
        row_(static_cast<u32>(hw::thread_index()) / kStepsPerTile),
        block_(static_cast<u32>(hw::thread_index()) % kStepsPerTile),
        place_(chunk_place(row_, 2 * block_)) {}

  // By all threads: asks for the next k tile, if there is one.
  THRESHER_DEVICE void load(const TileQueue<kConfig>& queue) {
    if (k_tiles_left_ == 0 && !done_) begin_tile(queue);
    if (done_) return;
    const i32 rows = blocks_left_ > 0 ? rows_left_ : 0;
    THRESHER_UNROLL
    for (u32 i = 0; i < kBlocks; ++i) {
      codes_[i] = {};
      scales_[i] = 0;
      if (static_cast<i32>(i * kRows) >= rows) continue;
      codes_[i] = hw::load_global(codes_from_ + u64{i} * kRows * blocks_per_row_);
      scales_[i] = hw::load_global(scales_from_ + u64{i} * kRows * blocks_per_row_);
    }
    codes_from_ += kStepsPerTile;
    scales_from_ += kStepsPerTile;
    blocks_left_ -= kStepsPerTile;
    --k_tiles_left_;
  }

  // By all threads, after a load: what it brought becomes the image that is not being read. Where
  // there was nothing to load, what was there before goes to where nobody reads: a branch would
  // keep the compiler from decoding between MMAs.
  THRESHER_DEVICE void store() {
    const hw::SharedAddress image = image_ + written_ * image_bytes(kConfig.tokens);
    THRESHER_UNROLL
    for (u32 i = 0; i < kBlocks; ++i) {
      // All tiles have the rows below the narrowest one's width.
      const bool always = (i + 1) * kRows <= static_cast<u32>(token_cut(kConfig).narrowest());
      if (!always && row_ + i * kRows >= width_) continue;
      const u32 factor = scale_factor(scales_[i]);
      const hw::SharedAddress place = image + place_ + i * kRows * kImageRowBytes;
      hw::store_shared(place, decode_chunk(codes_[i].x, factor));
      hw::store_shared(place ^ 16, decode_chunk(codes_[i].y, factor));
    }
    written_ ^= 1;
  }

 private:
  // Rows that the threads take at a time, four threads each, and how often they do.
  static constexpr u32 kRows = static_cast<u32>(consumer_threads(kConfig)) / kStepsPerTile;
  static constexpr u32 kBlocks = divide_up(static_cast<u32>(kConfig.tokens), kRows);
  // The swizzle goes by row % 8, which is the same for all rows of a thread; a block's two chunks
  // differ in the lowest bit of their number.
  static_assert(kRows % 8 == 0);

  THRESHER_DEVICE void begin_tile(const TileQueue<kConfig>& queue) {
    const QueuedTile<kConfig> queued = queue.read(tile_number_);
    done_ = !queued.exists();
    if (done_) return;
    ++tile_number_;
    k_tiles_left_ = queued.tile.k_tile_count;
    width_ = queued.tile.width;
    const u32 left = queued.group.token_count - queued.tile.first_token;
    rows_left_ = static_cast<i32>(left < width_ ? left : width_) - static_cast<i32>(row_);
    blocks_per_row_ = queued.group.k / kStepK;
    const u32 block = queued.tile.first_k_tile * kStepsPerTile + block_;
    blocks_left_ = static_cast<i32>(blocks_per_row_) - static_cast<i32>(block);
    const u64 first = (u64{queued.tile.first_token} + row_) * blocks_per_row_ + block;
    codes_from_ = reinterpret_cast<const U32x2*>(queued.activations) + first;
    scales_from_ = queued.scales + first;
  }

  const hw::SharedAddress image_;
  const u32 row_;    // the first
  const u32 block_;  // of a row's four
  const u32 place_;  // of its first chunk, in an image
  U32x2 codes_[kBlocks] = {};
  u8 scales_[kBlocks] = {};
  const U32x2* codes_from_ = nullptr;
  const u8* scales_from_ = nullptr;
  u32 blocks_per_row_ = 0;
  i32 blocks_left_ = 0;  // of the rows, from this one on
  i32 rows_left_ = 0;    // of the tile's that exist, from the first on
  u32 width_ = 0;
  u32 k_tiles_left_ = 0;
  u32 tile_number_ = 0;
  u32 written_ = 0;
  bool done_ = false;
};

// Tokens of 16 bits come with the weights (stage_loader.cuh).
struct NoNvfp4Tokens {
  THRESHER_DEVICE explicit NoNvfp4Tokens(hw::SharedAddress) {}
  template <typename Queue>
  THRESHER_DEVICE void load(const Queue&) {}
  THRESHER_DEVICE void store() {}
};

template <GemmConfig kConfig>
struct DecodedTokensOf {
  using Type = NoNvfp4Tokens;
};
template <GemmConfig kConfig>
requires(decodes_tokens(kConfig)) struct DecodedTokensOf<kConfig> {
  using Type = Nvfp4Tokens<kConfig>;
};

}  // namespace thresher::gpu::sm80
