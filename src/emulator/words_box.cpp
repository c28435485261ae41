// SPDX-License-Identifier: Apache-2.0
// The words of bulk copies to several blocks of a cluster, and by tensor maps.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/copy_issue.hpp"
#include "emulator/device_memory.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "emulator/tensor_map.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::Block;
using emulator::Box;
using emulator::BulkCopy;
using emulator::fault;
using emulator::self;
using emulator::Thread;

namespace {

constexpr u32 kCopyGranule = 16;
constexpr std::uintptr_t kMapAlignment = 64;

// In global memory; others are the kernel's parameters.
bool is_global(const Thread& thread, const TensorMap* map) {
  const emulator::DeviceMemory* const memory = thread.block->grid->options().memory;
  return memory != nullptr && !memory->fault(map, sizeof *map, /*write=*/false);
}

Box checked_box(const Thread& thread, const TensorMap* map, u32 byte, u32 row) {
  if (reinterpret_cast<std::uintptr_t>(map) % kMapAlignment != 0) {
    fault(thread, "copies by a tensor map at {}, not aligned to 64", static_cast<const void*>(map));
  }
  if (is_global(thread, map) && !thread.maps_fenced.contains(map)) {
    fault(thread, "copies by a tensor map in global memory, and has not said tensor_map_fence");
  }
  const Box box{.map = fields_of(*map), .byte = byte, .row = row};
  const std::string wrong = emulator::tensor_map_fault(box.map);
  if (!wrong.empty()) fault(thread, "copies by a tensor map that {}", wrong);
  return box;
}

struct BoxPlace {
  SharedAddress destination;
  SharedAddress barrier;
};

void start_box(Thread& thread, Block& block, Block& told, const Box& box, const BoxPlace& place) {
  emulator::check_shared_end(thread, block, place.destination, box.bytes(), box.alignment(),
                             "from");
  const BulkCopy::Target target =
      emulator::issue_to(thread, {block, place.destination, box.bytes(), told, place.barrier});
  for (u32 r = 0; box.bytes_there() > 0 && r < box.rows_there(); ++r) {
    emulator::check_global_end(thread, box.row_at(r), box.bytes_there(), /*write=*/false);
    emulator::note_source(target, box.row_at(r), box.bytes_there());
  }
  block.grid->start(std::make_shared<BulkCopy>(block, target, [box](u8* to) { box.bring(to); }));
}

// The first of the block's pair.
Block& leader_of(const Thread& thread, Block& block) {
  Block* const peer = block.peer();
  if (peer == nullptr) {
    fault(thread, "copies a box for a pair of blocks, and its cluster has one block");
  }
  return block.rank % 2 == 0 ? block : *peer;
}

}  // namespace

void copy_once_to_blocks(SharedAddress destination, const void* source, u32 bytes,
                         SharedAddress barrier, u32 blocks) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  if (bytes == 0 || bytes % kCopyGranule != 0) {
    fault(thread, "copies {} bytes from global memory, no positive multiple of 16", bytes);
  }
  emulator::check_global_end(thread, source, bytes, /*write=*/false);
  for (Block* const block : emulator::blocks_of(thread, blocks, "copy_once_to_blocks")) {
    emulator::check_shared_end(thread, *block, destination, bytes, kCopyGranule, "from");
    const BulkCopy::Target target =
        emulator::issue_to(thread, {*block, destination, bytes, *block, barrier});
    emulator::note_source(target, source, bytes);
    block->grid->start(std::make_shared<BulkCopy>(
        *block, target, [source, bytes](u8* to) { std::memcpy(to, source, bytes); }));
  }
}

// The fields are the map.
TensorMap tensor_map(const TensorMapFields& fields) {
  static_assert(sizeof(TensorMapFields) <= sizeof(TensorMap));
  TensorMap map;
  std::memcpy(map.words, &fields, sizeof fields);
  return map;
}

TensorMapFields fields_of(const TensorMap& map) {
  TensorMapFields fields;
  std::memcpy(&fields, map.words, sizeof fields);
  return fields;
}

void tensor_map_fence(const TensorMap* map, Site site) {
  if (leaves_out(site, "tensor_map_fence")) return;
  Thread& thread = self();
  if (!is_global(thread, map)) {
    fault(thread, "says tensor_map_fence for {}, which is not in global memory",
          static_cast<const void*>(map));
  }
  thread.maps_fenced.insert(map);
}

void copy_box(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
              SharedAddress barrier) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  Block& own = *thread.block;
  start_box(thread, own, own, checked_box(thread, map, byte, row), {destination, barrier});
}

void copy_box_of_pair(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
                      SharedAddress barrier) {
  Thread& thread = self();
  Block& own = *thread.block;
  own.grid->pause(thread);
  start_box(thread, own, leader_of(thread, own), checked_box(thread, map, byte, row),
            {destination, barrier});
}

void copy_box_to_each(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
                      SharedAddress barrier, u32 blocks) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  const Box box = checked_box(thread, map, byte, row);
  for (Block* const block : emulator::blocks_of(thread, blocks, "copy_box_to_blocks")) {
    start_box(thread, *block, *block, box, {destination, barrier});
  }
}

void copy_box_to_each_of_pairs(SharedAddress destination, const TensorMap* map, u32 byte, u32 row,
                               SharedAddress barrier, u32 blocks) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  const Box box = checked_box(thread, map, byte, row);
  for (Block* const block : emulator::blocks_of(thread, blocks, "copy_box_to_blocks")) {
    start_box(thread, *block, leader_of(thread, *block), box, {destination, barrier});
  }
}

}  // namespace thresher::gpu::hw
