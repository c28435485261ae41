// SPDX-License-Identifier: Apache-2.0
// Parts of a tile along k meet in the workspace. Whoever comes last adds them up, always in
// the order of the parts, so that the result does not depend on who that is.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_args.hpp"
#include "gpu/kernels/gemm_multiply.cuh"
#include "gpu/kernels/tile_walk.cuh"

namespace thresher::gpu {

template <GemmConfig kConfig>
class SplitSums {
 public:
  // Made anew for every tile, with a shuffle for the reason given in store_staged.cuh.
  THRESHER_DEVICE SplitSums(const GemmArgs& args, const StageRing<kConfig>& ring)
      : args_(args),
        warpgroup_(hw::broadcast(static_cast<u32>(hw::thread_index()) / hw::kWarpgroupThreads)),
        flag_(ring.base + StageRing<kConfig>::kLayout.flags + 4 * warpgroup_) {}

  // By a warpgroup together: leaves its part in the workspace. True: all parts are there, and the
  // warpgroup is the one to add them up and finish the tile.
  THRESHER_DEVICE bool deliver(const Tile& tile, const Sums<kConfig>& sums) const {
    store_part(tile.slot(tile.part), sums);
    hw::fence_device();
    sync();
    u32* counter = args_.counters + u64{tile.counter} * kConfig.consumer_warpgroups + warpgroup_;
    if (thread() == 0) {
      const bool last = hw::atomic_add(counter, 1) == tile.part_count - 1;
      if (last) hw::store_global(counter, 0u);  // ready for the next launch
      hw::fence_device();
      hw::store_shared(flag_, last ? 1u : 0u);
    }
    sync();
    return hw::load_shared<u32>(flag_) != 0;
  }

  THRESHER_DEVICE void add_parts(const Tile& tile, Sums<kConfig>& sums) const {
    set_to_zero<kConfig>(sums);
    for (u32 part = 0; part < tile.part_count; ++part) {
      const U32x4* from = vectors(tile.slot(part));
      THRESHER_UNROLL
      for (int unit = 0; unit < units_per_warpgroup(kConfig); ++unit) {
        THRESHER_UNROLL
        for (u32 i = 0; i < kVectors; ++i) {
          const U32x4 four =
              hw::load_global_coherent(from + (u32(unit) * kVectors + i) * hw::kWarpgroupThreads);
          sums[unit][4 * i] += hw::bits_to_float(four.x);
          sums[unit][4 * i + 1] += hw::bits_to_float(four.y);
          sums[unit][4 * i + 2] += hw::bits_to_float(four.z);
          sums[unit][4 * i + 3] += hw::bits_to_float(four.w);
          // Keeps the compiler from starting more loads than there are registers for.
          if (i % 8 == 7 || i + 1 == kVectors) hw::sync_warp();
        }
      }
    }
  }

 private:
  static constexpr u32 kVectors = kConfig.tokens / 8;  // of four floats, per unit

  THRESHER_DEVICE void sync() const {
    hw::sync_named(1 + static_cast<int>(warpgroup_), hw::kWarpgroupThreads);
  }
  THRESHER_DEVICE static u32 thread() {
    return static_cast<u32>(hw::thread_index()) % hw::kWarpgroupThreads;
  }

  // The thread's first vector of a part; its others follow at constant distances.
  THRESHER_DEVICE U32x4* vectors(u32 slot) const {
    constexpr u64 kWarpgroupVectors =
        u64{kVectors} * units_per_warpgroup(kConfig) * hw::kWarpgroupThreads;
    float* part = args_.partials + slot * partial_elements(kConfig);
    return reinterpret_cast<U32x4*>(part) + warpgroup_ * kWarpgroupVectors + thread();
  }

  THRESHER_DEVICE void store_part(u32 slot, const Sums<kConfig>& sums) const {
    U32x4* to = vectors(slot);
    THRESHER_UNROLL
    for (int unit = 0; unit < units_per_warpgroup(kConfig); ++unit) {
      THRESHER_UNROLL
      for (u32 i = 0; i < kVectors; ++i) {
        const float* four = &sums[unit][4 * i];
        hw::store_global(to + (u32(unit) * kVectors + i) * hw::kWarpgroupThreads,
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
