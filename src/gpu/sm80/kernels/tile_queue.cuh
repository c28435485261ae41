// SPDX-License-Identifier: Apache-2.0
// The block's next tiles, written down in shared memory.
//
// Loads run ahead of the MMAs, across tiles, and every thread takes part in both: if each of them
// walked over the groups by itself, twice, walking would take registers that the sums need. So one
// warp walks (tile_walk.cuh), one tile ahead of the loads, and writes what it finds into a ring. Of
// the walk it keeps where it was, and nothing else: all warps would have to hold it in registers.
// Whoever reads an entry does so behind the barrier that every k tile begins with; an entry is
// written again only after a barrier that all its readers have come to (queue_entries says why that
// many are enough).
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/tile_walk.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu::sm80 {

// A tile with what its loads need of the group.
template <GemmConfig kConfig>
struct QueuedTile {
  Tile tile;  // no k tiles: there is no such tile, nor any after it
  GroupWalkOf<kConfig> group;
  const u8* weights = nullptr;
  const u8* activations = nullptr;  // the group's first row, or the tile's first image
  const u8* scales = nullptr;

  THRESHER_DEVICE explicit QueuedTile(const GroupTable& table) : group(table) {}
  THRESHER_DEVICE bool exists() const { return tile.k_tile_count > 0; }
};

template <GemmConfig kConfig>
class TileQueue {
 public:
  // By all threads, once the book is written.
  THRESHER_DEVICE TileQueue(const GemmArgs& args, const GroupBook& book, hw::SharedAddress shared)
      : args_(args), book_(book), at_(shared + shared_layout(kConfig).queue) {}

  // By warp 0 together: finds the next tile and writes it down under its number.
  THRESHER_DEVICE void push(u32 number) {
    Walk walk(args_, book_);
    if (number > 0) walk.go_on_from(position_);
    const bool exists = walk.next();
    position_ = walk.position();
    if (hw::lane_index() == 0) write(entry(number), walk, exists);
    hw::sync_warp();
  }

  THRESHER_DEVICE QueuedTile<kConfig> read(u32 number) const {
    const hw::SharedAddress at = entry(number);
    const auto words = [at](u32 i) { return hw::load_shared<U32x4>(at + 16 * i); };
    QueuedTile<kConfig> queued(args_.table);
    const U32x4 part = words(1);
    queued.tile.k_tile_count = part.x;
    if (part.x == 0) return queued;
    const U32x4 place = words(0);
    queued.tile.first_token = place.x;
    queued.tile.width = place.y;
    queued.tile.row_tile = place.z;
    queued.tile.first_k_tile = place.w;
    queued.tile.part = part.y;
    queued.tile.part_count = part.z;
    queued.tile.counter = part.w;
    const U32x4 slots = words(2);
    queued.tile.first_slot = slots.x;
    queued.tile.slots = slots.y;
    queued.tile.slot_step = slots.z;
    queued.group.index = slots.w;
    const U32x4 group = words(3);
    queued.group.first_token = group.x;
    queued.group.token_count = group.y;
    queued.group.n = group.z;
    queued.group.k = group.w;
    queued.group.k_tile_count = divide_up(group.w, kTileK);
    const U32x4 addresses = words(4);
    queued.weights = address(addresses.x, addresses.y);
    queued.activations = address(addresses.z, addresses.w);
    const U32x4 scales = words(5);
    queued.scales = address(scales.x, scales.y);
    return queued;
  }

 private:
  using Walk = WalkOf<kConfig, Walker::kWarp>;
  static constexpr u32 kEntries = queue_entries(kConfig);

  THRESHER_DEVICE hw::SharedAddress entry(u32 number) const {
    return at_ + number % kEntries * kQueueEntryBytes;
  }

  static THRESHER_DEVICE const u8* address(u32 low, u32 high) {
    return reinterpret_cast<const u8*>(u64{high} << 32 | low);
  }
  static THRESHER_DEVICE u32 low(u64 value) { return static_cast<u32>(value); }
  static THRESHER_DEVICE u32 high(u64 value) { return static_cast<u32>(value >> 32); }

  THRESHER_DEVICE void write(hw::SharedAddress at, const Walk& walk, bool exists) const {
    const Tile& tile = walk.tile();
    const auto& group = walk.group();
    const u32 k_tiles = exists ? tile.k_tile_count : 0;
    hw::store_shared(at + 16, U32x4{k_tiles, tile.part, tile.part_count, tile.counter});
    if (!exists) return;
    hw::store_shared(at, U32x4{tile.first_token, tile.width, tile.row_tile, tile.first_k_tile});
    hw::store_shared(at + 32, U32x4{tile.first_slot, tile.slots, tile.slot_step, group.index});
    hw::store_shared(at + 48, U32x4{group.first_token, group.token_count, group.n, group.k});
    write_addresses(at, tile, group);
  }

  // Of rows that follow each other, this group's begin behind those of the groups before it.
  THRESHER_DEVICE void write_addresses(hw::SharedAddress at, const Tile& tile,
                                       const GroupWalkOf<kConfig>& group) const {
    const GroupEntry& own = group.entry();
    const RowsTable& rows = args_.table.rows;
    const bool follow = args_.table.rows_follow();
    const u64 weights = hw::load_global(&own.weights);
    u64 activations = follow ? rows.activations : hw::load_global(&own.activations);
    u64 scales = follow ? rows.activation_scales : hw::load_global(&own.activation_scales);
    const u64 values_before = group.row_offset() * group.k;
    if constexpr (kConfig.prologue == Prologue::kKernel) {
      activations = reinterpret_cast<u64>(args_.images) + group.tile_image_byte(tile.first_token);
    } else if constexpr (kConfig.activations == ActivationType::kNvfp4) {
      activations += values_before / 2;
      scales += values_before / kStepK;
    } else {
      activations += values_before * 2;
    }
    hw::store_shared(at + 64,
                     U32x4{low(weights), high(weights), low(activations), high(activations)});
    hw::store_shared(at + 80, U32x4{low(scales), high(scales), 0, 0});
  }

  const GemmArgs& args_;
  const GroupBook book_;
  const hw::SharedAddress at_;
  u32 position_ = 0;  // of the walk
};

}  // namespace thresher::gpu::sm80
