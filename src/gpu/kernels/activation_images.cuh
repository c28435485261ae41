// SPDX-License-Identifier: Apache-2.0
// The prologue: activations become the images that the GEMM fetches as they are.
//
// An image holds a tile's tokens x 64 k in 16 bits, in the 128-byte swizzle: token r has the 128
// bytes at 128 * r, in which the 16-byte chunk c stands at place c ^ (r % 8). Images of a group lie
// one after the other: by token tile, then along k; groups follow each other. Tokens beyond the
// group's and k beyond the matrix are zeros.
//
// NVFP4 becomes the true values in fp16, the global scale aside: a code has 2 significant bits, a
// scale 4, and products reach from 2^-10 to 2688, all of them normal numbers of fp16. A NaN scale
// makes NaNs. fp16 and bf16 values are copied.
//
// A warp does 256 k of four tokens at a time: a thread loads what becomes one chunk of each, and
// then writes four chunks, so that loads and stores of a warp are contiguous.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_args.hpp"
#include "gpu/kernels/gemm_config.hpp"
#include "gpu/kernels/image_config.hpp"
#include "gpu/kernels/image_tasks.cuh"

namespace thresher::gpu {

// Four E2M1 codes from the low 16 bits of `codes`, as two pairs of fp16. The upper byte of an fp16
// suffices for every code; the table of them fits two registers.
THRESHER_DEVICE U32x2 decode_codes(u32 codes) {
  constexpr u32 kMagnitudes0To3 = 0x3e3c3800;
  constexpr u32 kMagnitudes4To7 = 0x46444240;
  const u32 bytes = hw::permute_bytes(kMagnitudes0To3, kMagnitudes4To7, codes & 0x7777);
  const auto pair = [](u32 magnitudes, u32 two_codes) {
    return magnitudes | (two_codes << 12 & 0x8000u) | (two_codes << 24 & 0x80000000u);
  };
  return {pair(hw::permute_bytes(bytes, 0, 0x1404), codes),
          pair(hw::permute_bytes(bytes, 0, 0x3424), codes >> 8)};
}

// An E4M3 scale as fp16, in both halves.
THRESHER_DEVICE u32 decode_scale(u32 scale) {
  constexpr u32 kTwoTo8 = 0x5c005c00;
  const u32 placed = (scale << 8 & 0x8000u) | (scale << 7 & 0x3f80u);
  const u32 value = (scale & 0x7f) == 0x7f ? 0x7fffu : placed;
  return hw::multiply_fp16x2(value | value << 16, kTwoTo8);
}

// Where a group's activations are.
struct ActivationRows {
  u64 values = 0;
  u64 scales = 0;

  THRESHER_DEVICE explicit ActivationRows(const GroupEntry& entry)
      : values(hw::load_global(&entry.activations)),
        scales(hw::load_global(&entry.activation_scales)) {}
};

// What a chunk (8 values) is made from, as it is loaded; `index` counts chunks of the group.
struct Nvfp4Chunk {
  u32 codes = 0;
  u32 scale = 0;

  static THRESHER_DEVICE Nvfp4Chunk load(const ActivationRows& rows, u64 index) {
    return {hw::load_global(reinterpret_cast<const u32*>(rows.values) + index),
            hw::load_global(reinterpret_cast<const u8*>(rows.scales) + index / 2)};
  }

  THRESHER_DEVICE U32x4 values() const {
    const u32 factor = decode_scale(scale);
    const U32x2 low = decode_codes(codes & 0xffff);
    const U32x2 high = decode_codes(codes >> 16);
    return {hw::multiply_fp16x2(low.x, factor), hw::multiply_fp16x2(low.y, factor),
            hw::multiply_fp16x2(high.x, factor), hw::multiply_fp16x2(high.y, factor)};
  }
};

struct WideChunk {
  U32x4 copied;

  static THRESHER_DEVICE WideChunk load(const ActivationRows& rows, u64 index) {
    return {hw::load_global(reinterpret_cast<const U32x4*>(rows.values) + index)};
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

// One task: `chunk` is the thread's along k, `first` the first of the task's columns in the group.
template <ImageConfig kConfig>
THRESHER_DEVICE void make_chunks(const ImageArgs& args, const ImageGroup& group, u32 first,
                                 u32 chunk) {
  using Chunk = typename ChunkOf<kConfig.activations>::Type;
  constexpr u32 kTokens = kImageTaskTokens;
  constexpr u32 kChunksPerTile = kImageRowBytes / 16;
  const ActivationRows rows(args.table.entries[group.index]);
  const u64 first_row = args.table.rows_follow != 0 ? group.first_token : 0;
  const u32 chunks_per_row = group.k / 8;
  Chunk loaded[kTokens] = {};
  THRESHER_UNROLL
  for (u32 i = 0; i < kTokens; ++i) {
    if (first + i >= group.token_count || chunk >= chunks_per_row) continue;
    loaded[i] = Chunk::load(rows, (first_row + first + i) * chunks_per_row + chunk);
  }

  const TokenTiles tiles = cut_tokens(kConfig.cut, group.token_count);
  const u32 tile = tiles.tile_of(first);
  const u32 tile_first = tiles.first_token(tile);
  const u64 image_row = group.first_image_row + u64{tile_first} * group.k_tile_count() +
                        u64{chunk / kChunksPerTile} * tiles.width_of(tile) + (first - tile_first);
  THRESHER_UNROLL
  for (u32 i = 0; i < kTokens; ++i) {
    const u32 place = (chunk % kChunksPerTile) ^ ((first - tile_first + i) % 8);
    hw::store_global(
        reinterpret_cast<U32x4*>(args.images + (image_row + i) * kImageRowBytes + place * 16),
        loaded[i].values());
  }
}

// Tasks are dealt out to the warps in turn.
template <ImageConfig kConfig>
THRESHER_DEVICE void image_kernel(const ImageArgs& args) {
  hw::wait_for_previous_kernel();
  hw::start_next_kernel();

  const u32 warps_per_block = static_cast<u32>(hw::thread_count() / hw::kWarpThreads);
  const u32 warp_count = warps_per_block * static_cast<u32>(hw::block_count());
  u32 task = static_cast<u32>(hw::block_index()) * warps_per_block + hw::warp_index();
  ImageTasks<kConfig.cut> tasks(args.table, args.group_count);
  ImageGroup group;
  for (u32 in_group = 0; tasks.find(task, group, in_group); task += warp_count) {
    const u32 stretches = group.stretches();
    const u32 tokens = in_group / stretches;
    const u32 chunk = in_group % stretches * hw::kWarpThreads + hw::lane_index();
    if (chunk < group.k_tile_count() * (kTileK / 8)) {
      make_chunks<kConfig>(args, group, tokens * kImageTaskTokens, chunk);
    }
    hw::sync_warp();
  }
}

}  // namespace thresher::gpu
