// SPDX-License-Identifier: Apache-2.0
// The prologue: activations become the images that the GEMM fetches as they are.
//
// An image holds kTokens tokens x 64 k in 16 bits, in the 128-byte swizzle: token r has the 128
// bytes at 128 * r, in which the 16-byte chunk c stands at place c ^ (r % 8). Images of a group lie
// one after the other: by token tile, then along k; groups follow each other. Tokens beyond the
// group's and k beyond the matrix are zeros.
//
// NVFP4 becomes the true values in fp16, the global scale aside: a code has 2 significant bits, a
// scale 4, and products reach from 2^-10 to 2688, all of them normal numbers of fp16. A NaN scale
// makes NaNs. fp16 and bf16 values are copied.
//
// A warp does 512 k of one token at a time: each thread reads a block of 16 and writes two chunks.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_args.hpp"
#include "gpu/kernels/gemm_config.hpp"
#include "gpu/kernels/group_walk.cuh"
#include "gpu/kernels/image_config.hpp"

namespace thresher::gpu {

// 16 values as they stand in an image: two chunks.
struct ImageBlock {
  U32x4 chunks[2];
};

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

  THRESHER_DEVICE ImageBlock load_nvfp4(u64 block_index) const {
    const U32x2 codes = hw::load_global(reinterpret_cast<const U32x2*>(values) + block_index);
    const u8 scale_code = hw::load_global(reinterpret_cast<const u8*>(scales) + block_index);
    const u32 scale = decode_scale(scale_code);
    const auto chunk = [scale](u32 eight_codes) -> U32x4 {
      const U32x2 low = decode_codes(eight_codes & 0xffff);
      const U32x2 high = decode_codes(eight_codes >> 16);
      return {hw::multiply_fp16x2(low.x, scale), hw::multiply_fp16x2(low.y, scale),
              hw::multiply_fp16x2(high.x, scale), hw::multiply_fp16x2(high.y, scale)};
    };
    return {{chunk(codes.x), chunk(codes.y)}};
  }

  THRESHER_DEVICE ImageBlock load_16_bits(u64 block_index) const {
    const auto* chunks = reinterpret_cast<const U32x4*>(values) + 2 * block_index;
    return {{hw::load_global(chunks), hw::load_global(chunks + 1)}};
  }
};

template <ImageConfig kConfig>
THRESHER_DEVICE ImageBlock load_block(const ActivationRows& rows,
                                      const GroupWalk<kConfig.tokens>& group, u32 token,
                                      u32 block) {
  const u32 blocks_per_row = group.k / kStepK;
  if (token >= group.token_count || block >= blocks_per_row) return {};
  const u64 index = (group.row_offset() + token) * blocks_per_row + block;
  if constexpr (kConfig.activations == ActivationType::kNvfp4) {
    return rows.load_nvfp4(index);
  } else {
    return rows.load_16_bits(index);
  }
}

template <ImageConfig kConfig>
THRESHER_DEVICE void store_block(u8* images, const GroupWalk<kConfig.tokens>& group, u32 token,
                                 u32 block, const ImageBlock& values) {
  constexpr u32 kTokens = kConfig.tokens;
  const u32 row = token % kTokens;
  const u64 image = group.first_image + static_cast<u64>(token / kTokens) * group.k_tile_count +
                    block / kStepsPerTile;
  u8* at = images + image * image_bytes(kConfig.tokens) + row * kImageRowBytes;
  THRESHER_UNROLL
  for (u32 i = 0; i < 2; ++i) {
    const u32 chunk = block % kStepsPerTile * 2 + i;
    hw::store_global(reinterpret_cast<U32x4*>(at + (chunk ^ row % 8) * 16), values.chunks[i]);
  }
}

// Tasks are numbered by group, token and stretch of 32 blocks, and dealt out to the warps in turn.
template <ImageConfig kConfig>
THRESHER_DEVICE void image_kernel(const ImageArgs& args) {
  constexpr u32 kTilesPerTask = kImageTaskK / kTileK;
  hw::wait_for_previous_kernel();
  hw::start_next_kernel();

  const u32 warps_per_block = static_cast<u32>(hw::thread_count() / hw::kWarpThreads);
  const u32 warp_count = warps_per_block * static_cast<u32>(hw::block_count());
  u32 task = static_cast<u32>(hw::block_index()) * warps_per_block + hw::warp_index();
  u32 group_begin = 0;
  GroupWalk<kConfig.tokens> group(args.table);
  for (; group.index < args.group_count; group.next()) {
    group.read();
    const ActivationRows rows(group.entry());
    const u32 tasks_per_token = (group.k_tile_count + kTilesPerTask - 1) / kTilesPerTask;
    const u32 group_end = group_begin + group.token_tile_count * kConfig.tokens * tasks_per_token;
    for (; task < group_end; task += warp_count) {
      const u32 token = (task - group_begin) / tasks_per_token;
      const u32 stretch = (task - group_begin) % tasks_per_token;
      const u32 block = stretch * hw::kWarpThreads + hw::lane_index();
      if (block >= group.k_tile_count * kStepsPerTile) continue;
      store_block<kConfig>(args.images, group, token, block,
                           load_block<kConfig>(rows, group, token, block));
    }
    group_begin = group_end;
  }
}

}  // namespace thresher::gpu
