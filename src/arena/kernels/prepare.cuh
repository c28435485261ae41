// SPDX-License-Identifier: Apache-2.0
// What an entry for GPU MODE's arena does before its GEMM, in every call: weights come as codes and
// scales there, and new ones each time, so they are packed (gpu/sm100/kernels/tensor_layout.hpp) in
// the call; tokens' scales are brought from blocks into rows; the table of groups is written.
//
// Blocks of 128 threads walk the tiles of all groups: 128 rows by 256 of k. It reads what the GEMM
// needs once and writes it once; signs for unpacking are not kept.
#pragma once

#include "arena/kernels/prepare_args.hpp"
#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/tensor_layout.hpp"

namespace thresher::arena {

namespace hw = gpu::hw;
using gpu::u16;
using gpu::U32x4;
using gpu::u8;
using gpu::sm100::kBlockK;
using gpu::sm100::kStepsPerTile;
using gpu::sm100::kTileBytes;
using gpu::sm100::kTileCodeBytes;
using gpu::sm100::kTileK;
using gpu::sm100::kTileRows;

inline constexpr int kPrepareThreads = 128;
static_assert(kPrepareThreads == kTileRows);

class Prepare {
 public:
  THRESHER_DEVICE explicit Prepare(const PrepareArgs& args)
      : args_(args), thread_(static_cast<u32>(hw::thread_index())) {}

  THRESHER_DEVICE void run() {
    if (hw::block_index() == 0) write_table();
    u32 first = 0;  // of the group, among the tasks of all
    u32 task = static_cast<u32>(hw::block_index());
    for (u32 g = 0; g < args_.group_count; ++g) {
      const u32 count = task_count(args_.groups[g]);
      for (; task < first + count; task += static_cast<u32>(hw::block_count())) {
        do_task(args_.groups[g], task - first);
      }
      first += count;
    }
  }

 private:
  static constexpr u32 kChunkBytes = 16;
  static constexpr u32 kChunksPerRow = kTileK / 2 / kChunkBytes;
  static constexpr u32 kRowsAtATime = kPrepareThreads / kChunksPerRow;

  static THRESHER_DEVICE u32 weight_tiles(const ArenaGroup& group) {
    return divide_up(group.n, kTileRows) * (group.k / kTileK);
  }
  THRESHER_DEVICE u32 task_count(const ArenaGroup& group) const {
    if (group.m == 0) return 0;
    const bool scales = group.token_scales != 0;
    return weight_tiles(group) * args_.matrix_count +
           (scales ? divide_up(group.m, kTileRows) * (group.k / kTileK) : 0);
  }

  THRESHER_DEVICE void do_task(const ArenaGroup& group, u32 task) const {
    const u32 weights = weight_tiles(group) * args_.matrix_count;
    if (task >= weights) return bring_scales(group, task - weights);
    const u32 matrix = task % args_.matrix_count;
    pack_tile(group, matrix, task / args_.matrix_count,
              at<u8>(group.images) + u64{task} * kTileBytes);
  }

  THRESHER_DEVICE void write_table() const {
    if (thread_ >= args_.group_count) return;
    const ArenaGroup& group = args_.groups[thread_];
    gpu::GroupEntry* const entry = at<gpu::GroupEntry>(args_.entries) + thread_;
    hw::store_global(&entry->weights, group.images);
    hw::store_global(&entry->activations, group.tokens);
    hw::store_global(&entry->activation_scales, group.plain_token_scales);
    hw::store_global(&entry->n, group.n);
    hw::store_global(&entry->k, group.k);
    hw::store_global(&entry->c, group.c);
    hw::store_global(&entry->c_stride_elements, group.c_stride_elements);
    for (float* factor : {&entry->factor.main, &entry->factor.rest, &entry->factor_up.main,
                          &entry->factor_up.rest}) {
      hw::store_global(factor, 1.0f);
    }
    hw::store_global(at<u32>(args_.counts) + thread_, group.m);
  }

  // Tile `tile` of a matrix, counted along k first.
  THRESHER_DEVICE void pack_tile(const ArenaGroup& group, u32 matrix, u32 tile, u8* image) const {
    const u32 first_row = tile / (group.k / kTileK) * kTileRows;
    const u32 k_tile = tile % (group.k / kTileK);
    const u8* const codes = at<u8>(matrix == 0 ? group.weights : group.up) + k_tile * (kTileK / 2);
    const u8* const scales =
        at<u8>(matrix == 0 ? group.weight_scales : group.up_scales) + scale_tile(tile);
    const u32 chunk = thread_ % kChunksPerRow;
    THRESHER_UNROLL
    for (u32 i = 0; i < kTileRows / kRowsAtATime; ++i) {
      const u32 row = i * kRowsAtATime + thread_ / kChunksPerRow;
      U32x4 words;
      if (first_row + row < group.n) {
        const u64 from = u64{first_row + row} * (group.k / 2) + chunk * kChunkBytes;
        words = hw::load_global(reinterpret_cast<const U32x4*>(codes + from));
        flip_negative(words, hw::load_global(reinterpret_cast<const u16*>(
                                 scales + gpu::sm100::scale_place(row, 2 * chunk, 1))));
      }
      hw::store_global(reinterpret_cast<U32x4*>(image + gpu::sm100::code_place(row, 2 * chunk)),
                       words);
    }
    pack_scales(scales, group.n - first_row, image + kTileCodeBytes);
  }

  // Each 16 codes have a scale, whose sign an MMA does not look at.
  static THRESHER_DEVICE void flip_negative(U32x4& words, u16 scales) {
    const u32 first = (scales & 0x80) != 0 ? 0x88888888 : 0;
    const u32 second = (scales & 0x8000) != 0 ? 0x88888888 : 0;
    words = {words.x ^ first, words.y ^ first, words.z ^ second, words.w ^ second};
  }

  // 16 bytes of a block are the scales of four rows, 32 apart.
  THRESHER_DEVICE void pack_scales(const u8* from, u32 row_count, u8* to) const {
    const U32x4 words =
        hw::load_global(reinterpret_cast<const U32x4*>(from + thread_ * kChunkBytes));
    const u32 row = thread_ % 32;
    const auto of_row = [&](u32 word, u32 quarter) {
      return row + 32 * quarter < row_count ? word & 0x7f7f7f7f : 0;
    };
    hw::store_global(
        reinterpret_cast<U32x4*>(to + thread_ * kChunkBytes),
        U32x4{of_row(words.x, 0), of_row(words.y, 1), of_row(words.z, 2), of_row(words.w, 3)});
  }

  // A row of a tile each.
  THRESHER_DEVICE void bring_scales(const ArenaGroup& group, u32 tile) const {
    const u32 row = tile / (group.k / kTileK) * kTileRows + thread_;
    const u32 k_tile = tile % (group.k / kTileK);
    if (row >= group.m) return;
    const u8* const from = at<u8>(group.token_scales) + scale_tile(tile);
    u32 words[kStepsPerTile];
    THRESHER_UNROLL
    for (u32 step = 0; step < kStepsPerTile; ++step) {
      words[step] = hw::load_global(
          reinterpret_cast<const u32*>(from + gpu::sm100::scale_place(thread_, 4 * step, 1)));
    }
    u8* const to = at<u8>(group.plain_token_scales) + u64{row} * (group.k / kBlockK) +
                   k_tile * (kTileK / kBlockK);
    hw::store_global(reinterpret_cast<U32x4*>(to), U32x4{words[0], words[1], words[2], words[3]});
  }

  // Where a tile's scales begin, in bytes: its blocks follow each other.
  static THRESHER_DEVICE u64 scale_tile(u32 tile) {
    return u64{tile} * (kStepsPerTile * hw::kScaleBytes);
  }

  template <typename T>
  static THRESHER_DEVICE T* at(u64 address) {
    return reinterpret_cast<T*>(address);
  }

  const PrepareArgs& args_;
  u32 thread_;
};

THRESHER_DEVICE void prepare_kernel(const PrepareArgs& args) { Prepare(args).run(); }

}  // namespace thresher::arena
