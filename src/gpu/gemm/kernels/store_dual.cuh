// SPDX-License-Identifier: Apache-2.0
// Stores a tile of a dual product through shared memory.
//
// Gate and up sums go there as pairs, a few tokens at a time, and come back 8 bytes of C per
// thread, whose values are then finished in a loop. Finishing them straight from registers would
// unroll every SiLU of the tile: more instructions than the instruction cache holds, and each of
// them used once.
#pragma once

#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/sums.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

template <GemmConfig kConfig>
class StoreDual {
 public:
  // Made anew for every tile (hidden_thread says why).
  THRESHER_DEVICE explicit StoreDual(hw::SharedAddress shared)
      : warpgroup_(hidden_warpgroup<int>()),
        thread_(hidden_thread() % hw::kWarpgroupThreads),
        staging_(shared + kLayout.staging + warpgroup_ * kLayout.staging_warpgroup_bytes) {}

  template <int kWidth>
  THRESHER_DEVICE void store(const TileOutput<kConfig>& output,
                             const Sums<kConfig, kWidth>& sums) const {
    store_from<kWidth, 0>(output, sums);
  }

  THRESHER_DEVICE static void finish() {}

 private:
  static constexpr SharedLayout kLayout = shared_layout(kConfig);
  static constexpr OutputType kOutput = stored_type(kConfig);
  static constexpr u32 kElementBytes = element_bytes(kOutput);
  static constexpr u32 kValues = 8 / kElementBytes;  // that a thread finishes at a time
  static constexpr int kStrips = strips_per_warpgroup(kConfig);
  static constexpr u32 kColumns = kStrips * columns_per_strip(kConfig.product);
  static constexpr int kOctetsAtATime = staging_rows(kConfig) / 8;

  THRESHER_DEVICE void sync() const { hw::sync_named(1 + warpgroup_, hw::kWarpgroupThreads); }

  THRESHER_DEVICE hw::SharedAddress place(u32 token, u32 column) const {
    return staging_ + token * kLayout.staging_row_bytes + column * 8;
  }

  // Recursion for the reason given in store_direct.cuh.
  template <int kWidth, int kFirstOctet>
  THRESHER_DEVICE void store_from(const TileOutput<kConfig>& output,
                                  const Sums<kConfig, kWidth>& sums) const {
    constexpr int kLeft = kWidth / 8 - kFirstOctet;
    constexpr int kOctets = kOctetsAtATime < kLeft ? kOctetsAtATime : kLeft;
    constexpr u32 kFirstToken = 8 * kFirstOctet;
    sync();  // what was there has been read
    THRESHER_UNROLL
    for (int strip = 0; strip < kStrips; ++strip) {
      THRESHER_UNROLL
      for (int octet = 0; octet < kOctets; ++octet) {
        stage(strip, octet, &sums[strip][4 * (kFirstOctet + octet)]);
      }
    }
    sync();
    if (kFirstToken < output.token_count) {
      const u32 left = output.token_count - kFirstToken;
      finish_rows(output, kFirstToken, left < 8 * kOctets ? left : 8 * kOctets);
    }
    if constexpr (kOctets < kLeft) store_from<kWidth, kFirstOctet + kOctets>(output, sums);
  }

  // The thread's four sums: gates of two tokens, then their ups.
  THRESHER_DEVICE void stage(int strip, int octet, const float* sums) const {
    const u32 token = static_cast<u32>(8 * octet + thread_ % 4 * 2);
    const u32 column =
        static_cast<u32>(strip * columns_per_strip(kConfig.product) +
                         first_column(kConfig.product, thread_ / 32, 0) + thread_ % 32 / 4);
    THRESHER_UNROLL
    for (u32 i = 0; i < 2; ++i) {
      hw::store_shared(place(token + i, column),
                       U32x2{hw::float_to_bits(sums[i]), hw::float_to_bits(sums[2 + i])});
    }
  }

  THRESHER_DEVICE void finish_rows(const TileOutput<kConfig>& output, u32 first_token,
                                   u32 tokens) const {
    constexpr u32 kVectorsPerRow = kColumns / kValues;
    const u32 first_column = static_cast<u32>(warpgroup_) * kColumns;
    THRESHER_NO_UNROLL
    for (u32 i = static_cast<u32>(thread_); i < tokens * kVectorsPerRow;
         i += hw::kWarpgroupThreads) {
      const u32 token = i / kVectorsPerRow;
      const u32 column = i % kVectorsPerRow * kValues;
      if (first_column + column >= output.column_count) continue;
      float values[kValues];
      THRESHER_UNROLL
      for (u32 j = 0; j < kValues; j += 2) {
        const auto pairs = hw::load_shared<U32x4>(place(token, column + j));
        values[j] = value(output, pairs.x, pairs.y);
        values[j + 1] = value(output, pairs.z, pairs.w);
      }
      u8* at = output.c + u64{first_token + token} * output.row_bytes +
               u64{first_column + column} * kElementBytes;
      store_values(at, values, output.column_count - first_column - column);
    }
  }

  THRESHER_DEVICE static float value(const TileOutput<kConfig>& output, u32 gate, u32 up) {
    return silu(apply(output.factor, hw::bits_to_float(gate))) *
           apply(output.factor_up, hw::bits_to_float(up));
  }

  // As one vector where C allows it.
  THRESHER_DEVICE static void store_values(u8* at, const float (&values)[kValues], u32 columns) {
    using Element = StoredElement<kOutput>;
    Element elements[kValues];
    THRESHER_UNROLL
    for (u32 j = 0; j < kValues; j += 2) {
      const float pair[2] = {values[j], values[j + 1]};
      Element rounded[2];
      round_pair<kOutput>(pair, rounded);
      elements[j] = rounded[0];
      elements[j + 1] = rounded[1];
    }
    if (reinterpret_cast<u64>(at) % 8 == 0 && columns >= kValues) {
      hw::store_global(reinterpret_cast<U32x2*>(at), vector_of(elements));
      return;
    }
    THRESHER_UNROLL
    for (u32 j = 0; j < kValues; ++j) {
      if (j < columns) hw::store_global(reinterpret_cast<Element*>(at) + j, elements[j]);
    }
  }

  THRESHER_DEVICE static U32x2 vector_of(const float (&elements)[2]) {
    return {hw::float_to_bits(elements[0]), hw::float_to_bits(elements[1])};
  }
  THRESHER_DEVICE static U32x2 vector_of(const u16 (&elements)[4]) {
    const auto pair = [&](int i) { return u32{elements[i]} | u32{elements[i + 1]} << 16; };
    return {pair(0), pair(2)};
  }

  const int warpgroup_;
  const int thread_;  // in the warpgroup
  const hw::SharedAddress staging_;
};

}  // namespace thresher::gpu
