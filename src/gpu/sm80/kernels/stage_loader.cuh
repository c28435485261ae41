// SPDX-License-Identifier: Apache-2.0
// Fills the stages: for every k tile of every tile of the block, the packed weights and, where they
// have 16 bits, the tokens, as copies of 16 bytes by all threads (cp.async). One group of copies
// per k tile, empty ones at the end, so that counting groups is counting k tiles.
//
// A stage's tokens lie as in sm90's images: token r has the 128 bytes at 128 * r, in which chunk c
// of 8 values stands at place c ^ (r % 8). So matrix loads have no bank conflicts. What the
// caller's rows do not have, tokens or k, is zeros.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/sm80/kernels/tile_queue.cuh"

namespace thresher::gpu::sm80 {

inline constexpr u32 kChunksPerRow = kImageRowBytes / 16;

// Byte of an image that holds a chunk of a token's row.
THRESHER_DEVICE constexpr u32 chunk_place(u32 row, u32 chunk) {
  return row * kImageRowBytes + (chunk ^ row % 8) * 16;
}

// A thread's share of the rows of 16-bit tokens: always the same chunk of a row's 64 k.
template <GemmConfig kConfig>
class WideTokens {
 public:
  THRESHER_DEVICE WideTokens()
      : row_(static_cast<u32>(hw::thread_index()) / kChunksPerRow),
        chunk_(static_cast<u32>(hw::thread_index()) % kChunksPerRow) {}

  THRESHER_DEVICE void begin(const QueuedTile<kConfig>& queued) {
    const u32 first_chunk = queued.tile.first_k_tile * kChunksPerRow + chunk_;
    row_bytes_ = u64{queued.group.k} * 2;
    chunks_left_ = static_cast<i32>(queued.group.k / 8) - static_cast<i32>(first_chunk);
    width_ = queued.tile.width;
    token_count_ = queued.group.token_count - queued.tile.first_token;
    source_ = queued.activations + (u64{queued.tile.first_token} + row_) * row_bytes_ +
              u64{first_chunk} * 16;
  }

  THRESHER_DEVICE void copy(hw::SharedAddress image) {
    constexpr u32 kRows = static_cast<u32>(consumer_threads(kConfig)) / kChunksPerRow;
    const u8* source = source_;
    // The swizzle goes by row % 8, which is the same for all rows of a thread.
    hw::SharedAddress place = image + chunk_place(row_, chunk_);
    for (u32 row = row_; row < width_; row += kRows) {
      const bool exists = row < token_count_ && chunks_left_ > 0;
      hw::copy_piece(place, exists ? source : source_, exists);
      source += kRows * row_bytes_;
      place += kRows * kImageRowBytes;
    }
    source_ += kImageRowBytes;
    chunks_left_ -= static_cast<i32>(kChunksPerRow);
  }

 private:
  const u32 row_;
  const u32 chunk_;
  const u8* source_ = nullptr;
  u64 row_bytes_ = 0;
  i32 chunks_left_ = 0;  // of the rows, from this one on
  u32 width_ = 0;
  u32 token_count_ = 0;  // from the tile's first on
};

// A thread's share of the images that a prologue has made (gpu/gemm/kernels/activation_images.cuh):
// those of a tile follow each other along k, and are copied as they are.
template <GemmConfig kConfig>
class ImageTokens {
 public:
  THRESHER_DEVICE void begin(const QueuedTile<kConfig>& queued) {
    piece_count_ = queued.tile.width * kChunksPerRow;
    const u64 first = u64{queued.tile.first_k_tile} * piece_count_;
    source_ = queued.activations + (first + static_cast<u32>(hw::thread_index())) * 16;
  }

  THRESHER_DEVICE void copy(hw::SharedAddress image) {
    constexpr u32 kThreads = static_cast<u32>(consumer_threads(kConfig));
    constexpr u32 kPieces = divide_up(static_cast<u32>(kConfig.tokens) * kChunksPerRow, kThreads);
    const u32 thread = static_cast<u32>(hw::thread_index());
    THRESHER_UNROLL
    for (u32 i = 0; i < kPieces; ++i) {
      if (thread + i * kThreads >= piece_count_) continue;
      hw::copy_piece(image + (thread + i * kThreads) * 16, source_ + i * kThreads * 16);
    }
    source_ += u64{piece_count_} * 16;
  }

 private:
  const u8* source_ = nullptr;
  u32 piece_count_ = 0;  // of an image
};

struct NoTokens {
  template <typename Queued>
  THRESHER_DEVICE void begin(const Queued&) {}
  THRESHER_DEVICE void copy(hw::SharedAddress) {}
};

template <GemmConfig kConfig>
struct CopiedTokensOf {
  using Type = WideTokens<kConfig>;
};
template <GemmConfig kConfig>
requires(decodes_tokens(kConfig)) struct CopiedTokensOf<kConfig> {
  using Type = NoTokens;  // nvfp4_tokens.cuh has them
};
template <GemmConfig kConfig>
requires(kConfig.prologue == Prologue::kKernel) struct CopiedTokensOf<kConfig> {
  using Type = ImageTokens<kConfig>;
};

template <GemmConfig kConfig>
class StageLoader {
 public:
  THRESHER_DEVICE explicit StageLoader(hw::SharedAddress shared) : shared_(shared) {}

  // By all threads: one k tile, or nothing if there is none left. The queue is handed over with
  // every call: an object that points to its neighbour would have to lie in memory.
  THRESHER_DEVICE void load_next(TileQueue<kConfig>& queue) {
    if (k_tiles_left_ == 0 && !done_) begin_tile(queue);
    if (!done_) load_stage();
    hw::pieces_commit();
  }

 private:
  static constexpr SharedLayout kLayout = shared_layout(kConfig);
  static constexpr u32 kWeightTiles = kConfig.weight_rows / kTileRows;
  static constexpr u32 kThreads = static_cast<u32>(consumer_threads(kConfig));

  THRESHER_DEVICE void begin_tile(TileQueue<kConfig>& queue) {
    const QueuedTile<kConfig> queued = queue.read(tile_number_);
    done_ = !queued.exists();
    if (done_) return;
    ++tile_number_;
    if (hw::warp_index() == 0) queue.push(tile_number_);
    k_tiles_left_ = queued.tile.k_tile_count;
    tokens_.begin(queued);
    begin_weights(queued);
  }

  // Where the rows end before the block's tile does, the last weights are loaded again; nobody
  // stores what comes of them.
  THRESHER_DEVICE void begin_weights(const QueuedTile<kConfig>& queued) {
    constexpr u32 kColumns = kTileRows / rows_per_column(kConfig.product);
    const u32 last = divide_up(queued.group.n, kColumns) - 1;
    THRESHER_UNROLL
    for (u32 i = 0; i < kWeightTiles; ++i) {
      const u32 asked = queued.tile.row_tile * kWeightTiles + i;
      const u32 row_tile = asked < last ? asked : last;
      const u64 tile = u64{row_tile} * queued.group.k_tile_count + queued.tile.first_k_tile;
      weights_[i] = queued.weights + tile * kTileBytes + static_cast<u32>(hw::thread_index()) * 16;
    }
  }

  THRESHER_DEVICE void load_stage() {
    constexpr u32 kPieces = kTileBytes / 16;
    const u32 thread = static_cast<u32>(hw::thread_index());
    const hw::SharedAddress to =
        shared_ + kLayout.weights + stage_ * kLayout.weight_stage_bytes + thread * 16;
    THRESHER_UNROLL
    for (u32 i = 0; i < kWeightTiles; ++i) {
      THRESHER_UNROLL
      for (u32 first = 0; first < kPieces; first += kThreads) {
        if (first + kThreads > kPieces && first + thread >= kPieces) continue;
        hw::copy_piece(to + i * kTileBytes + first * 16, weights_[i] + first * 16);
      }
      weights_[i] += kTileBytes;
    }
    tokens_.copy(shared_ + kLayout.images + stage_ * image_bytes(kConfig.tokens));
    --k_tiles_left_;
    stage_ = stage_ + 1 == kConfig.stages ? 0 : stage_ + 1;
  }

  const hw::SharedAddress shared_;
  u32 tile_number_ = 0;
  u32 stage_ = 0;
  u32 k_tiles_left_ = 0;
  bool done_ = false;
  const u8* weights_[kWeightTiles] = {};  // the thread's first piece of the next k tile
  typename CopiedTokensOf<kConfig>::Type tokens_;
};

}  // namespace thresher::gpu::sm80
