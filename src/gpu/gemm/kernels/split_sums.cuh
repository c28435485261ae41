// SPDX-License-Identifier: Apache-2.0
// Parts of a tile along k meet in the workspace. Whoever comes last adds them up, always in the
// order of the parts, so that the result does not depend on who that is. Its own part it keeps in
// registers.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/part_counter.cuh"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/sums.cuh"
#include "gpu/gemm/kernels/tile_walk.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

template <GemmConfig kConfig>
class SplitSums {
 public:
  // Made anew for every tile (hidden_thread says why).
  THRESHER_DEVICE SplitSums(const GemmArgs& args, hw::SharedAddress shared)
      : args_(args),
        warpgroup_(hidden_warpgroup<u32>()),
        flag_(shared + shared_layout(kConfig).flags + 4 * warpgroup_) {}

  // By a warpgroup together, when its part is all but done: the answer comes while the last MMAs
  // are still under way.
  THRESHER_DEVICE void arrive(const Tile& tile) const {
    if (thread() == 0) hw::store_shared(flag_, counter(tile).arrive());
  }

  // By a warpgroup together, after that, `sums` being those of its part. True: it came last, and
  // `sums` are now those of the whole tile, which it is to finish.
  template <int kWidth>
  THRESHER_DEVICE bool gather(const Tile& tile, Sums<kConfig, kWidth>& sums) const {
    sync();
    if (PartCounter::came_last(hw::load_shared<u32>(flag_), tile.part_count)) {
      if (thread() == 0) {
        counter(tile).wait_for_others(hw::load_shared<u32>(flag_), tile.part_count);
      }
      sync();
      add_parts<kWidth>(tile, sums);
      return true;
    }
    store_part<kWidth>(tile.slot(tile.part), sums);
    sync();
    if (thread() == 0) counter(tile).deliver();
    return false;
  }

 private:
  static constexpr u32 kVectorsAtATime = 16;

  THRESHER_DEVICE PartCounter counter(const Tile& tile) const {
    return {args_.counters + u64{tile.counter} * kConfig.consumer_warpgroups + warpgroup_};
  }

  // As many vectors at a time as there are registers for.
  template <int kWidth>
  THRESHER_DEVICE void add_parts(const Tile& tile, Sums<kConfig, kWidth>& sums) const {
    constexpr u32 kVectors = kWidth / 8;
    THRESHER_UNROLL
    for (int strip = 0; strip < strips_per_warpgroup(kConfig); ++strip) {
      THRESHER_UNROLL
      for (u32 first = 0; first < kVectors; first += kVectorsAtATime) {
        constexpr u32 kLast = kVectors % kVectorsAtATime;
        const u32 place = static_cast<u32>(strip) * kVectors + first;
        float* at = &sums[strip][4 * first];
        if (kLast == 0 || first + kVectorsAtATime <= kVectors) {
          add_vectors<kWidth, kVectorsAtATime>(tile, place, at);
        } else if constexpr (kLast > 0) {
          add_vectors<kWidth, kLast>(tile, place, at);
        }
      }
    }
  }

  template <int kWidth, u32 kCount>
  THRESHER_DEVICE void add_vectors(const Tile& tile, u32 place, float* sums) const {
    if (tile.part < 2) {
      // With one part before it, or none, the own part may as well come first.
      THRESHER_NO_UNROLL
      for (u32 part = 0; part < tile.part_count; ++part) {
        if (part == tile.part) continue;
        add_loaded<kCount>(vectors<kWidth>(tile.slot(part), place), sums);
      }
      return;
    }
    constexpr u32 kFew = kCount % 4 == 0 ? 4 : kCount % 2 == 0 ? 2 : 1;
    THRESHER_UNROLL
    for (u32 i = 0; i < kCount; i += kFew)
      add_in_order<kWidth, kFew>(tile, place + i, sums + 4 * i);
  }

  template <int kWidth, u32 kCount>
  THRESHER_DEVICE void add_in_order(const Tile& tile, u32 place, float* sums) const {
    float before[4 * kCount] = {};
    THRESHER_NO_UNROLL
    for (u32 part = 0; part < tile.part; ++part) {
      add_loaded<kCount>(vectors<kWidth>(tile.slot(part), place), before);
    }
    THRESHER_UNROLL
    for (u32 i = 0; i < 4 * kCount; ++i) sums[i] = before[i] + sums[i];
    THRESHER_NO_UNROLL
    for (u32 part = tile.part + 1; part < tile.part_count; ++part) {
      add_loaded<kCount>(vectors<kWidth>(tile.slot(part), place), sums);
    }
  }

  template <u32 kCount>
  THRESHER_DEVICE static void add_loaded(const U32x4* from, float* sums) {
    U32x4 loaded[kCount];
    THRESHER_UNROLL
    for (u32 i = 0; i < kCount; ++i) {
      loaded[i] = hw::load_global_coherent(from + i * hw::kWarpgroupThreads);
    }
    THRESHER_UNROLL
    for (u32 i = 0; i < kCount; ++i) {
      sums[4 * i] += hw::bits_to_float(loaded[i].x);
      sums[4 * i + 1] += hw::bits_to_float(loaded[i].y);
      sums[4 * i + 2] += hw::bits_to_float(loaded[i].z);
      sums[4 * i + 3] += hw::bits_to_float(loaded[i].w);
    }
  }

  THRESHER_DEVICE void sync() const {
    hw::sync_named(1 + static_cast<int>(warpgroup_), hw::kWarpgroupThreads);
  }
  THRESHER_DEVICE static u32 thread() {
    return static_cast<u32>(hidden_thread()) % hw::kWarpgroupThreads;
  }

  // The thread's vector number `place` of a part; its others follow at constant distances.
  template <int kWidth>
  THRESHER_DEVICE U32x4* vectors(u32 slot, u32 place) const {
    constexpr u32 kVectorsPerThread = kWidth / 8 * strips_per_warpgroup(kConfig);
    float* part = args_.partials + slot * partial_elements(kConfig);
    return reinterpret_cast<U32x4*>(part) +
           (warpgroup_ * kVectorsPerThread + place) * hw::kWarpgroupThreads + thread();
  }

  template <int kWidth>
  THRESHER_DEVICE void store_part(u32 slot, const Sums<kConfig, kWidth>& sums) const {
    constexpr u32 kVectors = kWidth / 8;
    U32x4* to = vectors<kWidth>(slot, 0);
    THRESHER_UNROLL
    for (int strip = 0; strip < strips_per_warpgroup(kConfig); ++strip) {
      THRESHER_UNROLL
      for (u32 i = 0; i < kVectors; ++i) {
        const float* four = &sums[strip][4 * i];
        hw::store_global(to + (u32(strip) * kVectors + i) * hw::kWarpgroupThreads,
                         U32x4{hw::float_to_bits(four[0]), hw::float_to_bits(four[1]),
                               hw::float_to_bits(four[2]), hw::float_to_bits(four[3])});
      }
    }
  }

  const GemmArgs& args_;
  const u32 warpgroup_;
  const hw::SharedAddress flag_;
};

}  // namespace thresher::gpu
