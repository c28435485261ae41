// SPDX-License-Identifier: Apache-2.0
// Results on their way to C through shared memory: a few tokens at a time, a row of 128 columns for
// each, which leaves as one bulk copy where C's alignment allows it. Two buffers take turns, so
// that one is filled while the other leaves.
#pragma once

#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/part_sums.cuh"
#include "gpu/sm100/kernels/tensor_ring.cuh"

namespace thresher::gpu::sm100 {

template <GemmConfig kConfig>
class StagedRows {
 public:
  using Element = StoredElement<stored_type(kConfig)>;
  using Output = TileOutput<kConfig>;

  THRESHER_DEVICE explicit StagedRows(const TensorRing<kConfig>& ring) : base_(ring.staging()) {}

  // By the warps that store together, before they put a few tokens' values.
  THRESHER_DEVICE void begin() const {
    hw::copy_wait_read<1>();  // what was here has left
    sync();
  }

  // The thread's column of a token, of those few.
  THRESHER_DEVICE void put(u32 token, Element element) const {
    hw::store_shared(place(token) + static_cast<u32>(hw::thread_index()) * kElementBytes, element);
  }

  // Behind all values: `count` tokens from `first` on, of which some may be beyond the group's.
  THRESHER_DEVICE void send(const Output& output, u32 first, u32 count) {
    hw::fence_async();
    sync();
    const u32 columns = output.column_count < kTileRows ? output.column_count : kTileRows;
    const u32 left = output.token_count > first ? output.token_count - first : 0;
    const u32 tokens = left < count ? left : count;
    u8* c = output.c + u64{first} * output.row_bytes;
    const u32 bytes = columns * kElementBytes;
    if ((reinterpret_cast<u64>(c) | output.row_bytes | bytes) % 16 == 0) {
      copy_rows(c, output.row_bytes, bytes, tokens);
    } else {
      store_rows(c, output.row_bytes, columns, tokens);
    }
    hw::copy_commit();
    buffer_ ^= 1;
  }

  // Before the block ends: shared memory must not go while copies read it.
  THRESHER_DEVICE static void finish() { hw::copy_wait<0>(); }

 private:
  static constexpr u32 kElementBytes = sizeof(Element);

  static THRESHER_DEVICE void sync() { hw::sync_named(kStoreBarrier, kStoreThreads); }

  THRESHER_DEVICE hw::SharedAddress place(u32 token) const {
    return base_ + (buffer_ * kStagedTokens + token) * staging_row_bytes(kConfig);
  }

  THRESHER_DEVICE void copy_rows(u8* c, u64 row_bytes, u32 bytes, u32 tokens) const {
    const u32 token = static_cast<u32>(hw::thread_index());
    if (token >= tokens || bytes == 0) return;
    hw::copy_to_global(c + token * row_bytes, place(token), bytes);
  }

  THRESHER_DEVICE void store_rows(u8* c, u64 row_bytes, u32 columns, u32 tokens) const {
    const u32 column = static_cast<u32>(hw::thread_index());
    if (column >= columns) return;
    for (u32 token = 0; token < tokens; ++token) {
      const auto element = hw::load_shared<Element>(place(token) + column * kElementBytes);
      hw::store_global(reinterpret_cast<Element*>(c + token * row_bytes) + column, element);
    }
  }

  const hw::SharedAddress base_;
  u32 buffer_ = 0;
};

}  // namespace thresher::gpu::sm100
