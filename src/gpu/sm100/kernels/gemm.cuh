// SPDX-License-Identifier: Apache-2.0
// Grouped NVFP4 GEMM and dual GEMM for sm_100a: both operands as they are, sums in tensor memory.
// Emulated and compiled; never run on a Blackwell.
//
// C[g] (m x n, row-major) = A[g] (m x k) * B[g]^T (n x k), or the gated dual of it. The MMA
// computes C transposed, 128 rows of weights by up to 256 tokens, so a group of few tokens wastes
// little.
//
// Inputs: weights packed as in tensor_layout.hpp, activations as the caller has them.
// Roles: tensor_ring.cuh names the warps; token_loader.cuh and weight_loader.cuh fill the stages,
// tensor_multiply.cuh multiplies, store_columns.cuh finishes tiles while the next is multiplied.
// Tiles of 256 rows are a pair of blocks' (cta_group::2): stage_relay.cuh tells its leader what is
// there, unless all who load do (loads = boxes). With loads = multicast two blocks have the same
// 128 rows of weights and half of a tile's tokens each. Blocks stay and walk the tiles of all
// groups (gpu/gemm/kernels/tile_walk.cuh). Limits: NVFP4 activations; k a multiple of 16; any n;
// any number of tokens per group.
#pragma once

#include "gpu/gemm/kernels/lane_sums.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/stage_relay.cuh"
#include "gpu/sm100/kernels/store_columns.cuh"
#include "gpu/sm100/kernels/tensor_multiply.cuh"
#include "gpu/sm100/kernels/tensor_ring.cuh"
#include "gpu/sm100/kernels/token_loader.cuh"
#include "gpu/sm100/kernels/weight_loader.cuh"

namespace thresher::gpu::sm100 {

// Barriers, book and tensor memory, by a warp each.
template <GemmConfig kConfig>
THRESHER_DEVICE void set_up(const GemmArgs& args, const TensorRing<kConfig>& ring) {
  const int warp = hw::warp_index();
  if (warp >= kTokenWarp && warp < kTokenWarp + kTokenWarps) {
    TokenLoader<kConfig>::clear_scales(ring);
  }
  if (warp == kWeightWarp && hw::elect_one()) ring.init();
  if (warp == kMultiplyWarp) {
    constexpr int kBlocks = TensorRing<kConfig>::kMmaBlocks;
    hw::tensor_allocate<kBlocks>(ring.slot(), TensorRing<kConfig>::kColumns.allocated);
    hw::tensor_allocate_no_more<kBlocks>();
  }
  if (warp == kBookWarp) write_book<kConfig>(ring.book(), args);
}

template <GemmConfig kConfig>
THRESHER_DEVICE void multiply(const GemmArgs& args, const TensorRing<kConfig>& ring,
                              hw::TensorAddress tensor) {
  if constexpr (TensorRing<kConfig>::kMmaBlocks > 1) {
    if (ring.rank() != 0) {
      if constexpr (!TensorRing<kConfig>::kToLeader) StageRelay<kConfig>(args, ring).run();
      return;
    }
  }
  TensorMultiply<kConfig>(args, ring, tensor).run();
}

template <GemmConfig kConfig>
THRESHER_DEVICE void play_role(const GemmArgs& args, const TensorRing<kConfig>& ring,
                               hw::TensorAddress tensor) {
  const int warp = hw::warp_index();
  if (warp == kWeightWarp) {
    if (hw::elect_one()) WeightLoader<kConfig>(args, ring).run();
    return hw::sync_warp();
  }
  if (warp == kMultiplyWarp) {
    if (hw::elect_one()) multiply<kConfig>(args, ring, tensor);
    return hw::sync_warp();
  }
  hw::wait_for_previous_kernel();
  if (warp < kTokenWarp) return StoreColumns<kConfig>(args, ring, tensor).run();
  if (warp < kTokenWarp + kTokenWarps) TokenLoader<kConfig>(args, ring).run();
}

template <GemmConfig kConfig>
THRESHER_DEVICE void gemm_kernel(const GemmArgs& args) {
  static_assert(kConfig.mma == Mma::kBlockScaled);
  static_assert(kConfig.activations == ActivationType::kNvfp4);
  constexpr int kBlocks = TensorRing<kConfig>::kBlocks;
  wait_for_counts(args.table, args.first_group + args.group_count);
  const TensorRing<kConfig> ring{hw::shared_base()};
  if constexpr (kBlocks > 1) hw::sync_block<kBlocks>();  // both have begun
  set_up<kConfig>(args, ring);
  hw::sync_block<kBlocks>();
  const hw::TensorAddress tensor = hw::load_shared<u32>(ring.slot());
  play_role<kConfig>(args, ring, tensor);
  hw::sync_block<kBlocks>();  // and before that neither may end
  if (hw::warp_index() != kMultiplyWarp) return;
  hw::tensor_fence_after();
  hw::tensor_free<TensorRing<kConfig>::kMmaBlocks>(tensor, TensorRing<kConfig>::kColumns.allocated);
}

}  // namespace thresher::gpu::sm100
