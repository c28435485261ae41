// SPDX-License-Identifier: Apache-2.0
// The baseline: the same result as gemm.cuh in the plainest way that uses the tensor cores.
//
// One stage, no roles, no asynchronous copies. All threads of the one warpgroup copy the tokens'
// image into shared memory, decode the weights into another image beside it, and multiply the two;
// then they start over with the next 64 k. It takes the same inputs as gemm.cuh, and of the config
// only the product, the types and the number of tokens: the rest must be as plain_config() has it.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/store_direct.cuh"
#include "gpu/gemm/kernels/sums.cuh"
#include "gpu/gemm/kernels/tile_walk.cuh"
#include "gpu/gemm/kernels/weight_decode.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu::sm90 {

template <GemmConfig kConfig>
class PlainTile {
 public:
  THRESHER_DEVICE explicit PlainTile(hw::SharedAddress shared)
      : tokens_(shared), weights_(shared + image_bytes(kConfig.tokens)) {}

  // Adds 64 k to the sums.
  THRESHER_DEVICE void add(const u8* image, const u8* weight_tile,
                           Sums<kConfig, kConfig.tokens>& sums) const {
    copy_image(image);
    decode_weights(weight_tile);
    hw::fence_async();
    hw::sync_block();

    hw::mma_fence();
    THRESHER_UNROLL
    for (int strip = 0; strip < kStrips; ++strip) {
      THRESHER_UNROLL
      for (int step = 0; step < kStepsPerTile; ++step) {
        const u64 along_k = static_cast<u64>(step) * kDescriptorStep;
        hw::mma<kConfig.tokens, kOperand>(
            sums[strip], image_descriptor(weights_ + strip * kStripBytes) + along_k,
            image_descriptor(tokens_) + along_k, true);
      }
    }
    hw::mma_commit();
    hw::mma_wait<0>();
    THRESHER_UNROLL
    for (int strip = 0; strip < kStrips; ++strip) hw::hide(sums[strip]);
    hw::sync_block();  // nobody overwrites what another warp still multiplies
  }

 private:
  static constexpr int kStrips = strips_per_warpgroup(kConfig);
  static constexpr u32 kStripBytes = kSubTileRows * kImageRowBytes;
  static constexpr hw::Operand kOperand = operand_of(kConfig.activations);

  THRESHER_DEVICE void copy_image(const u8* image) const {
    for (u32 at = hw::thread_index() * 16; at < image_bytes(kConfig.tokens);
         at += hw::kWarpgroupThreads * 16) {
      hw::store_shared(tokens_ + at, hw::load_global(reinterpret_cast<const U32x4*>(image + at)));
    }
  }

  // A thread decodes the fragment it would hold as an MMA's operand, and puts each pair of values
  // where row and k say.
  THRESHER_DEVICE void decode_weights(const u8* tile) const {
    const int thread = hw::thread_index();
    const PackedPlace place(0, thread);
    for (int strip = 0; strip < kStrips; ++strip) {
      const auto packed = PackedStrip<kConfig.product>::load(tile, place, strip);
      THRESHER_UNROLL
      for (int step = 0; step < kStepsPerTile; ++step) {
        u32 a[4];
        packed.template decode<kOperand>(step, a);
        THRESHER_UNROLL
        for (int i = 0; i < 4; ++i) {
          const u32 row = static_cast<u32>(thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8);
          const u32 chunk = static_cast<u32>(2 * step + i / 2);
          hw::store_shared(weights_ + strip * kStripBytes + row * kImageRowBytes +
                               (chunk ^ row % 8) * 16 + thread % 4 * 4,
                           a[i]);
        }
      }
    }
  }

  const hw::SharedAddress tokens_;
  const hw::SharedAddress weights_;
};

template <GemmConfig kConfig>
THRESHER_DEVICE void plain_gemm_kernel(const GemmArgs& args) {
  static_assert(kConfig == plain_config(kConfig));
  hw::wait_for_previous_kernel();
  const PlainTile<kConfig> plain(hw::shared_base());
  const StoreDirect<kConfig> store(hw::shared_base());
  const GroupBook book{hw::shared_base() + plain_book_byte(kConfig)};
  if (hw::warp_index() == 0) write_book<kConfig>(book, args);
  hw::sync_block();
  WalkOf<kConfig, Walker::kWarp> walk(args, book);
  while (walk.next()) {
    const auto& group = walk.group();
    const u8* image = args.images + group.tile_image_byte(walk.tile().first_token);
    const u8* weights = reinterpret_cast<const u8*>(hw::load_global(&group.entry().weights)) +
                        static_cast<u64>(walk.tile().row_tile) * group.k_tile_count * kTileBytes;
    Sums<kConfig, kConfig.tokens> sums;
    set_to_zero<kConfig, kConfig.tokens>(sums);
    for (u32 i = 0; i < group.k_tile_count; ++i) {
      plain.add(image, weights, sums);
      image += image_bytes(kConfig.tokens);
      weights += kTileBytes;
    }
    store.template store<kConfig.tokens>(TileOutput<kConfig>(args, walk.tile(), group), sums);
  }
}

}  // namespace thresher::gpu::sm90
