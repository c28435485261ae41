// SPDX-License-Identifier: Apache-2.0
// The prologue by tile: the producer's other warps make the image of every stage from the
// activations themselves, while the consumers multiply the stages before it.
//
// No image ever lies in global memory, and no block waits for another; but blocks that share tokens
// decode them each for itself.
//
// A warp takes a piece, 8 tokens of a stage, at a time, four lanes to a token; a lane makes two
// chunks of the image.
//   NVFP4       The block of 16 values that share a scale. What a lane needs of the stages to come
//               is on its way in registers: as soon as a piece is stored, the same piece of a later
//               stage is asked for.
//   fp16, bf16  Copied where they belong, without registers, and told of some stages later.
//
// Where tokens end before an image does, the last one is taken again: nobody stores what comes of
// it. Where k does, it meets weights that are zeros. So the last block of NVFP4 can be taken again:
// a NaN in it has spoilt its token's results already. Values of 16 bits may be infinite, so there
// it is zeros.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_args.hpp"
#include "gpu/kernels/gemm_config.hpp"
#include "gpu/kernels/stage_ring.cuh"
#include "gpu/kernels/tile_walk.cuh"

namespace thresher::gpu {

// A block of values as it is loaded. Codes become fp16 as weights do (weight_decode.cuh): their
// bits in place are the code times 2^-14. The product of that with 2^7 of the scale is exact: the
// true value times 2^-7, which activation_unit (gemm_config.hpp) undoes.
struct TilePiece {
  U32x2 codes;
  u32 scale = 0;

  THRESHER_DEVICE void store(hw::SharedAddress low_chunk, hw::SharedAddress high_chunk) const {
    constexpr u32 kTwoTo7 = 0x58005800;
    const u32 factor = hw::multiply_fp16x2(hw::unpack_e4m3x2(scale * 0x101), kTwoTo7);
    hw::store_shared(low_chunk, chunk(codes.x, factor));
    hw::store_shared(high_chunk, chunk(codes.y, factor));
  }

 private:
  // Eight codes. A byte holds two; the sign and the magnitude of one of them go where they belong
  // in a byte, for all four bytes at once, and then each to the upper byte of its fp16.
  THRESHER_DEVICE static U32x4 chunk(u32 word, u32 factor) {
    constexpr u32 kSigns = 0x80808080;
    const u32 even = hw::select_bits(kSigns, word << 4, word << 1);
    const u32 odd = hw::select_bits(kSigns, word, word >> 3);
    return {pair(even, odd, 0x4000, factor), pair(even, odd, 0x5010, factor),
            pair(even, odd, 0x6020, factor), pair(even, odd, 0x7030, factor)};
  }
  THRESHER_DEVICE static u32 pair(u32 even, u32 odd, u32 selector, u32 factor) {
    constexpr u32 kMask = 0x8e008e00;
    return hw::multiply_fp16x2(hw::permute_bytes(even, odd, selector) & kMask, factor);
  }
};

template <GemmConfig kConfig>
class TileImages {
 public:
  // `maker` counts the warps that make images.
  THRESHER_DEVICE TileImages(const GemmArgs& args, const StageRing<kConfig>& ring, u32 maker)
      : args_(args), ring_(ring), first_token_(hw::uniform(maker) * kPieceTokens) {}

  // Of a walk only the position is kept while a tile is made: the rest would take the registers
  // that pieces need.
  THRESHER_DEVICE void run() {
    for (u32 position = Walk(args_, ring_.book()).position();;) {
      Walk walk(args_, ring_.book());
      walk.go_on_from(position);
      if (!walk.next()) return;
      position = walk.position();
      start_tile(walk);
      hw::wait_for_previous_kernel();  // which may have written the activations
      if constexpr (kDecodes) {
        decode_tile();
      } else {
        copy_tile();
      }
    }
  }

 private:
  using Walk = WalkOf<kConfig, Walker::kWarp>;

  static constexpr bool kDecodes = decodes_by_tile(kConfig);
  static constexpr u32 kTokenLanes = hw::kWarpThreads / kPieceTokens;
  // What values are counted in: blocks of NVFP4, or chunks.
  static constexpr u32 kUnitValues = kDecodes ? 16 : 8;
  static constexpr u32 kUnits = kTileK / kUnitValues;  // of a token in a stage
  static constexpr u32 kStep = image_makers(kConfig) * kPieceTokens;
  // Pieces of a stage that a warp makes, and for how many stages they are on their way: enough to
  // hide the way, as few as fit the registers; and of the ring, consumers keep a stage until they
  // have the next.
  static constexpr u32 kPieces = (kConfig.tokens + kStep - 1) / kStep;
  static constexpr u32 kAhead = kPieces > 3 ? 1 : kPieces > 1 ? 2 : 4;
  static constexpr u32 kCopiesAhead = kConfig.stages > 6 ? 4 : kConfig.stages - 2;

  THRESHER_DEVICE void start_tile(const Walk& walk) {
    const Tile& tile = walk.tile();
    const auto& group = walk.group();
    const GroupEntry& entry = group.entry();
    stages_left_ = tile.k_tile_count;
    const u32 width = hw::uniform(tile.width);
    pieces_ = width > first_token_ ? divide_up(width - first_token_, kStep) : 0;
    units_per_row_ = group.k / kUnitValues;
    last_token_ = group.token_count - tile.first_token - 1;
    unit_ = tile.first_k_tile * kUnits + lane_of_token();
    const u64 first = (group.row_offset() + tile.first_token) * units_per_row_;
    constexpr u32 kUnitBytes = kDecodes ? sizeof(U32x2) : sizeof(U32x4);
    values_ = hw::load_global(&entry.activations) + first * kUnitBytes;
    hw::keep(values_);  // or the compiler adds `first` to every address instead
    if constexpr (kDecodes) {
      scales_ = hw::load_global(&entry.activation_scales) + first;
      hw::keep(scales_);
    }
  }

  THRESHER_DEVICE void decode_tile() {
    TilePiece pieces[kAhead][kPieces];
    THRESHER_UNROLL
    for (u32 ahead = 0; ahead < kAhead; ++ahead) {
      THRESHER_UNROLL
      for (u32 piece = 0; piece < kPieces; ++piece) pieces[ahead][piece] = load(piece, ahead);
    }
    while (true) {
      THRESHER_UNROLL
      for (u32 turn = 0; turn < kAhead; ++turn) {
        if (stages_left_ == 0) return;
        decode_stage(pieces[turn]);
      }
    }
  }

  THRESHER_DEVICE void decode_stage(TilePiece (&pieces)[kPieces]) {
    const hw::SharedAddress chunk = wait_for_place(2 * lane_of_token());
    THRESHER_UNROLL
    for (u32 piece = 0; piece < kPieces; ++piece) {
      if (piece >= pieces_) continue;
      const u32 offset = piece * kStep * kImageRowBytes;
      pieces[piece].store(chunk + offset, (chunk ^ 16) + offset);
      pieces[piece] = load(piece, kAhead);
    }
    tell_of(position_.stage);
    advance();
  }

  // Asks for a piece of the stage that is `ahead` stages after the current one.
  THRESHER_DEVICE TilePiece load(u32 piece, u32 ahead) const {
    const u32 block = unit_ + ahead * kUnits;
    const u32 last_block = units_per_row_ - 1;
    const u32 at = row_of(piece) + (block < last_block ? block : last_block);
    return {hw::load_global(reinterpret_cast<const U32x2*>(values_) + at),
            hw::load_global(reinterpret_cast<const u8*>(scales_) + at)};
  }

  THRESHER_DEVICE void copy_tile() {
    auto untold = position_;
    for (u32 copied = 0; stages_left_ > 0; ++copied) {
      copy_stage();
      if (copied < kCopiesAhead) continue;
      hw::chunks_wait<kCopiesAhead>();
      tell_of(untold.stage);
      untold.advance();
    }
    hw::chunks_wait<0>();
    for (; untold.stage != position_.stage; untold.advance()) tell_of(untold.stage);
  }

  THRESHER_DEVICE void copy_stage() {
    const hw::SharedAddress chunk = wait_for_place(lane_of_token());
    THRESHER_UNROLL
    for (u32 piece = 0; piece < kPieces; ++piece) {
      if (piece >= pieces_) continue;
      const u32 row = row_of(piece);
      const u32 offset = piece * kStep * kImageRowBytes;
      copy(chunk + offset, row, unit_);
      copy((chunk ^ kTokenLanes * 16) + offset, row, unit_ + kTokenLanes);
    }
    hw::chunks_commit();
    advance();
  }
  THRESHER_DEVICE void copy(hw::SharedAddress to, u32 row, u32 unit) const {
    const bool exists = unit < units_per_row_;
    hw::copy_chunk(to, reinterpret_cast<const U32x4*>(values_) + row + (exists ? unit : 0), exists);
  }

  // The first unit of the lane's token in a piece.
  THRESHER_DEVICE u32 row_of(u32 piece) const {
    u32 token = first_token_ + token_in_piece();
    hw::keep(token);  // or the compiler keeps a register for the row of every piece
    token += piece * kStep;
    return (token < last_token_ ? token : last_token_) * units_per_row_;
  }

  // Where chunk `chunk` of the lane's token in the warp's first piece belongs, once the stage is
  // empty.
  THRESHER_DEVICE hw::SharedAddress wait_for_place(u32 chunk) const {
    hw::barrier_wait(ring_.empty(position_.stage), position_.parity ^ 1);
    return ring_.image(position_.stage) + (first_token_ + token_in_piece()) * kImageRowBytes +
           (chunk ^ token_in_piece()) * 16;
  }

  // The warp's part of a stage's image is there.
  THRESHER_DEVICE void tell_of(u32 stage) const {
    hw::fence_async();
    hw::sync_warp();
    if (ring_.elected) hw::barrier_arrive(ring_.full(stage));
  }

  THRESHER_DEVICE void advance() {
    position_.advance();
    unit_ += kUnits;
    --stages_left_;
  }

  THRESHER_DEVICE static u32 token_in_piece() {
    return static_cast<u32>(hw::lane_index()) / kTokenLanes;
  }
  THRESHER_DEVICE static u32 lane_of_token() {
    return static_cast<u32>(hw::lane_index()) % kTokenLanes;
  }

  const GemmArgs& args_;
  const StageRing<kConfig>& ring_;
  RingPosition<kConfig.stages> position_;
  u32 first_token_;  // of the warp's first piece
  u32 stages_left_ = 0;
  u32 pieces_ = 0;  // that the warp makes of every stage
  u32 units_per_row_ = 0;
  u32 last_token_ = 0;  // in the tile, that there is
  u32 unit_ = 0;        // the lane's first, in the current stage
  u64 values_ = 0;      // addresses of the tile's first token's
  u64 scales_ = 0;
};

}  // namespace thresher::gpu
