// SPDX-License-Identifier: Apache-2.0
// Stores a tile through shared memory: each warpgroup transposes its part, so that a token's
// columns lie side by side, and sends every token's row to C as one bulk copy, or as vectors of 16
// bytes, one per thread. Where C's alignment forbids that, its threads store the rows element by
// element, neighbours side by side.
#pragma once

#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/sums.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

template <GemmConfig kConfig>
class StoreStaged {
 public:
  // Made anew for every tile (hidden_warpgroup says why).
  THRESHER_DEVICE explicit StoreStaged(hw::SharedAddress shared)
      : warpgroup_(hidden_warpgroup<int>()),
        thread_(hw::thread_index() % hw::kWarpgroupThreads),
        staging_(shared + kLayout.staging + warpgroup_ * kLayout.staging_warpgroup_bytes) {}

  template <int kWidth>
  THRESHER_DEVICE void store(const TileOutput<kConfig>& output,
                             const Sums<kConfig, kWidth>& sums) const {
    if constexpr (kBulk) hw::copy_wait_read<0>();
    sync();  // the tile before has left the staging rows
    stage_from<kWidth, 0>(output, sums);
    if constexpr (kBulk) hw::fence_async();
    sync();

    const u32 first = static_cast<u32>(warpgroup_) * kColumns;
    if (first >= output.column_count) return;
    const u32 left = output.column_count - first;
    const u32 bytes = (left < kColumns ? left : kColumns) * kElementBytes;
    const u32 tokens = output.token_count < kWidth ? output.token_count : kWidth;
    u8* c = output.c + first * kElementBytes;
    if ((reinterpret_cast<u64>(c) | output.row_bytes | bytes) % 16 == 0) {
      if constexpr (kBulk) {
        copy_rows(c, output.row_bytes, bytes, tokens);
      } else {
        store_vectors(c, output.row_bytes, bytes, tokens);
      }
    } else {
      store_rows(c, output.row_bytes, bytes / kElementBytes, tokens);
    }
  }

  // Before the block ends: shared memory must not go while copies read it.
  THRESHER_DEVICE static void finish() {
    if constexpr (kBulk) hw::copy_wait<0>();
  }

 private:
  static constexpr SharedLayout kLayout = shared_layout(kConfig);
  static constexpr bool kBulk = kConfig.store == Store::kStaged;
  static constexpr OutputType kOutput = stored_type(kConfig);
  static constexpr u32 kElementBytes = element_bytes(kOutput);
  static constexpr int kStrips = strips_per_warpgroup(kConfig);
  static constexpr int kHalves = halves_of(kConfig.product);
  static constexpr int kOctetsAtATime = kOutput == OutputType::kFp32 ? 1 : 4 / kHalves;
  static constexpr u32 kColumns = kStrips * columns_per_strip(kConfig.product);

  THRESHER_DEVICE void sync() const { hw::sync_named(1 + warpgroup_, hw::kWarpgroupThreads); }

  THRESHER_DEVICE hw::SharedAddress place(u32 token, u32 column) const {
    return staging_ + token * kLayout.staging_row_bytes + column * kElementBytes;
  }

  // Recursion for the reason given in store_direct.cuh.
  template <int kWidth, int kIndex>
  THRESHER_DEVICE void stage_from(const TileOutput<kConfig>& output,
                                  const Sums<kConfig, kWidth>& sums) const {
    constexpr int kOctets = kWidth / 8;
    constexpr int kStrip = kIndex / kOctets;
    constexpr int kOctet = kIndex % kOctets;
    constexpr int kCount = kOctetsAtATime < kOctets - kOctet ? kOctetsAtATime : kOctets - kOctet;
    if constexpr (kOutput == OutputType::kFp32) {
      stage_floats(output, kStrip, kOctet, &sums[kStrip][4 * kOctet]);
    } else {
      stage_pairs<kCount>(output, kStrip, kOctet, &sums[kStrip][4 * kOctet]);
    }
    if constexpr (kIndex + kCount < kStrips * kOctets) {
      stage_from<kWidth, kIndex + kCount>(output, sums);
    }
  }

  // As many octets as a matrix store takes, or as are left.
  template <int kCount>
  THRESHER_DEVICE void stage_pairs(const TileOutput<kConfig>& output, int strip, int octet,
                                   const float* sums) const {
    u32 matrices[4] = {};
    THRESHER_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const auto values = octet_values(output, strip, octet + i, sums + 4 * i);
      THRESHER_UNROLL
      for (int half = 0; half < kHalves; ++half) {
        matrices[i * kHalves + half] = pack_pair<kOutput>(values.of[half][0], values.of[half][1]);
      }
    }
    stage_matrices(strip, octet, matrices);
  }

  THRESHER_DEVICE OctetValues<kConfig.product> octet_values(const TileOutput<kConfig>& output,
                                                            int strip, int octet,
                                                            const float* sums) const {
    const u32 token = static_cast<u32>(8 * octet + thread_ % 4 * 2);
    return output.values(sums, token, warpgroup_ * kColumns + thread_column(strip, 0));
  }

  // The first column of the thread's warp, and of the thread itself, in the warpgroup's columns.
  THRESHER_DEVICE u32 warp_column(int strip, int half) const {
    return static_cast<u32>(strip * columns_per_strip(kConfig.product) +
                            first_column(kConfig.product, thread_ / 32, half));
  }
  THRESHER_DEVICE u32 thread_column(int strip, int half) const {
    return warp_column(strip, half) + thread_ % 32 / 4;
  }

  THRESHER_DEVICE void stage_floats(const TileOutput<kConfig>& output, int strip, int octet,
                                    const float* sums) const {
    const auto values = octet_values(output, strip, octet, sums);
    const u32 token = static_cast<u32>(8 * octet + thread_ % 4 * 2);
    THRESHER_UNROLL
    for (int half = 0; half < kHalves; ++half) {
      THRESHER_UNROLL
      for (int i = 0; i < 2; ++i) {
        hw::store_shared(place(token + i, thread_column(strip, half)), values.of[half][i]);
      }
    }
  }

  // Lane 8*i + r says where row r of matrix i goes: the token of that octet, the half's columns.
  THRESHER_DEVICE void stage_matrices(int strip, int octet, const u32 (&matrices)[4]) const {
    const int lane = thread_ % 32;
    const int matrix = lane / 8;
    const u32 token = static_cast<u32>(8 * (octet + matrix / kHalves) + lane % 8);
    hw::store_matrix_x4_transposed(place(token, warp_column(strip, matrix % kHalves)), matrices[0],
                                   matrices[1], matrices[2], matrices[3]);
  }

  THRESHER_DEVICE void copy_rows(u8* c, u64 row_bytes, u32 bytes, u32 tokens) const {
    for (u32 token = thread_; token < tokens; token += hw::kWarpgroupThreads) {
      hw::copy_to_global(c + token * row_bytes, place(token, 0), bytes);
    }
    hw::copy_commit();
  }

  // A few rows at a time, so that their loads from shared memory overlap.
  THRESHER_DEVICE void store_vectors(u8* c, u64 row_bytes, u32 bytes, u32 tokens) const {
    constexpr u32 kVectorsPerRow = kColumns * kElementBytes / 16;
    constexpr u32 kRowsAtATime = hw::kWarpgroupThreads / kVectorsPerRow;
    constexpr u32 kTimes = 4;
    const u32 thread = static_cast<u32>(thread_);
    const u32 at = thread % kVectorsPerRow * 16;
    if (at >= bytes) return;
    for (u32 first = thread / kVectorsPerRow; first < tokens; first += kTimes * kRowsAtATime) {
      U32x4 vectors[kTimes];
      THRESHER_UNROLL
      for (u32 i = 0; i < kTimes; ++i) {
        const u32 token = first + i * kRowsAtATime;
        if (token < tokens) vectors[i] = hw::load_shared<U32x4>(place(token, 0) + at);
      }
      THRESHER_UNROLL
      for (u32 i = 0; i < kTimes; ++i) {
        const u32 token = first + i * kRowsAtATime;
        if (token >= tokens) continue;
        hw::store_global(reinterpret_cast<U32x4*>(c + token * row_bytes + at), vectors[i]);
      }
    }
  }

  THRESHER_DEVICE void store_rows(u8* c, u64 row_bytes, u32 columns, u32 tokens) const {
    using Element = StoredElement<kOutput>;
    for (u32 i = thread_; i < tokens * kColumns; i += hw::kWarpgroupThreads) {
      const u32 token = i / kColumns;
      const u32 column = i % kColumns;
      if (column >= columns) continue;
      const auto value = hw::load_shared<Element>(place(token, column));
      hw::store_global(reinterpret_cast<Element*>(c + token * row_bytes) + column, value);
    }
  }

  const int warpgroup_;
  const int thread_;  // in the warpgroup
  const hw::SharedAddress staging_;
};

}  // namespace thresher::gpu
