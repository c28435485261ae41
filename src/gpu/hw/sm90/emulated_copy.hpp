// SPDX-License-Identifier: Apache-2.0
// Bulk copies that need a cluster or a tensor map, as the emulator speaks them. From Hopper on; for
// pairs of blocks, sm_100.
#pragma once

#include "gpu/hw/emulated_site.hpp"
#include "gpu/hw/sm90/tensor_map.hpp"

namespace thresher::gpu::hw {

// As copy_once_to_shared, to the same place in every block of the cluster whose bit is set in
// `blocks`; the bytes count at the barrier of this address in each. What a copy of another block
// brings, only those know who wait as members of a cluster (barrier_wait<2>).
void copy_once_to_blocks(SharedAddress destination, const void* source, u32 bytes,
                         SharedAddress barrier, u32 blocks);

// What a driver makes of the fields.
TensorMap tensor_map(const TensorMapFields& fields);
TensorMapFields fields_of(const TensorMap& map);

// A map that lies in global memory: before the thread copies by it.
void tensor_map_fence(const TensorMap* map, Site site = Site::here());

// A box of the map's matrix, from `byte` and `row` on, row after row. Swizzled, the 16-byte chunks
// of a row change places by the number of the row's 128 bytes, and the destination is aligned to
// 8 of the swizzle's rows; otherwise to 128 bytes. What the matrix does not have is zeros, which
// count as bytes too.
void copy_box(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
              SharedAddress barrier);
// For a pair of blocks, in either: the bytes come to the own block, and count at the barrier of
// this address in the pair's first.
void copy_box_of_pair(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
                      SharedAddress barrier);
template <int kBlocks>
void copy_box_to_shared(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
                        SharedAddress barrier) {
  if constexpr (kBlocks == 1) return copy_box(destination, map, byte, row, barrier);
  copy_box_of_pair(destination, map, byte, row, barrier);
}

// The same box to the same place in every block of the cluster whose bit is set in `blocks`. The
// bytes count at the barrier of this address in each; for pairs in each one's first, wherever in
// the pair they come to.
void copy_box_to_each(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
                      SharedAddress barrier, u32 blocks);
void copy_box_to_each_of_pairs(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
                               SharedAddress barrier, u32 blocks);
template <int kBlocks>
void copy_box_to_blocks(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
                        SharedAddress barrier, u32 blocks) {
  if constexpr (kBlocks == 1) {
    return copy_box_to_each(destination, map, byte, row, barrier, blocks);
  }
  copy_box_to_each_of_pairs(destination, map, byte, row, barrier, blocks);
}

}  // namespace thresher::gpu::hw
