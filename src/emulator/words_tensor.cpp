// SPDX-License-Identifier: Apache-2.0
// The words of tcgen05.
#include <algorithm>
#include <bit>
#include <utility>

#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "emulator/tensor_issue.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::emulator {

void TensorOperation::advance() {
  if (done_) return;
  done_ = true;
  const TensorStep step = std::move(thread_.in_flight.front());
  thread_.in_flight.pop_front();
  step.run();
}

}  // namespace thresher::emulator

namespace thresher::gpu::hw {

using emulator::Block;
using emulator::fault;
using emulator::kTensorQuarters;
using emulator::self;
using emulator::tensor_core;
using emulator::TensorMemory;
using emulator::TensorWarp;
using emulator::TensorWord;
using emulator::Thread;
using emulator::Warp;

namespace {

constexpr u32 kColumnMask = 0xffff;
constexpr u32 kLoadInFlight = 0x7fa5'5a5a;  // what a register holds until its load is waited for

// Every warp of tensor_* words together; true in the thread that acts for all.
bool meet(Thread& thread, const char* word) {
  thread.block->grid->pause(thread);
  return thread.warp().meeting.join(thread, word);
}

// The last lane of a warp, for a word that a warp of each block of a pair says: waits for the other
// block's. What both must have said alike is `columns` and `place`; the later one acts for both.
template <typename Act>
u32 meet_other(Thread& thread, const char* word, u32 columns, u32 place, Act act) {
  emulator::PairMeeting& meeting = thread.block->cluster->meeting_of(thread.block->rank);
  if (meeting.first == nullptr) {
    meeting.word = word;
    meeting.columns = columns;
    meeting.place = place;
    meeting.first = &thread;
    thread.block->grid->wait(thread, {.kind = emulator::Wait::Kind::kPair, .word = word});
    return meeting.answer;
  }
  const Thread& other = *meeting.first;
  if (other.block == thread.block || meeting.word != word) {
    fault(thread, "says {} while {} waits for the other block of its pair to say {}", word,
          other.name(), meeting.word);
  }
  if (other.index / kWarpThreads != thread.index / kWarpThreads) {
    fault(thread, "says {} in another warp of its block than {} in that one's", word, other.name());
  }
  if (meeting.columns != columns || meeting.place != place) {
    fault(thread, "says {} with {} columns and {:#x}, and {} with {} and {:#x}: they must be alike",
          word, columns, place, other.name(), meeting.columns, meeting.place);
  }
  meeting.answer = act();
  thread.block->grid->wake(*std::exchange(meeting.first, nullptr));
  return meeting.answer;
}

emulator::TensorBlocks check_allocation(const Thread& thread, u32 columns, int count,
                                        const char* word) {
  if (columns < 32 || columns > kTensorColumns || !std::has_single_bit(columns)) {
    fault(thread, "allocates {} columns of tensor memory, no power of two from 32 to 512", columns);
  }
  if (tensor_core(*thread.block).allocates_no_more) {
    fault(thread, "allocates tensor memory after tensor_allocate_no_more");
  }
  return emulator::tensor_blocks(thread, count, word);
}

void check_found(const Thread& thread, u32 first, u32 columns) {
  if (first != TensorMemory::kNowhere) return;
  fault(thread,
        "allocates {} columns of tensor memory beside {} of its block: it would wait for "
        "ever",
        columns, tensor_core(*thread.block).memory.allocated_columns());
}

// Before columns are freed.
void check_idle(const Thread& thread, TensorAddress first, u32 columns) {
  tensor_core(*thread.block)
      .memory.check_idle(std::min(first & kColumnMask, kTensorColumns),
                         std::min(columns, kTensorColumns - std::min(first, kTensorColumns)),
                         thread);
}

void release(const Thread& thread, TensorAddress first, u32 columns) {
  TensorMemory& memory = tensor_core(*thread.block).memory;
  if (!memory.release(first, columns)) {
    fault(thread, "frees {} columns of tensor memory from {} on, which is no allocation", columns,
          first);
  }
  memory.forget(first, columns);
}

// What a thread issues, for its block or as the leader of its pair.
void copy_scales(TensorAddress destination, u64 descriptor, int count, u32 rows, const char* word) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  emulator::issue_copy(thread, emulator::tensor_blocks_of_leader(thread, count, word), destination,
                       descriptor, rows);
}

void multiply(const BlockScaledMma& mma, int count, const char* word) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  emulator::issue_multiply(thread, emulator::tensor_blocks_of_leader(thread, count, word), mma);
}

void commit(SharedAddress barrier, int count, const char* word) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  const emulator::TensorBlocks blocks = emulator::tensor_blocks_of_leader(thread, count, word);
  emulator::issue_commit(thread, {blocks.begin(), blocks.end()}, barrier);
}

void commit_to_blocks(SharedAddress barrier, u32 bits, const char* word) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  emulator::tensor_blocks(thread, 1, word);
  emulator::issue_commit(thread, emulator::blocks_of(thread, bits, word), barrier);
}

u32 quarter_of_warp() { return static_cast<u32>(warp_index()) % kTensorQuarters; }

// `does` is "loads" or "stores".
void check_warp_place(Thread& thread, const char* does, TensorAddress first, u32 columns) {
  const u32 quarter = quarter_of_warp();
  const u32 lane = first >> 16;
  if (lane != quarter * kLanesPerWarp) {
    fault(thread, "{} lanes {} on of tensor memory, and its warp reaches {} to {}", does, lane,
          quarter * kLanesPerWarp, quarter * kLanesPerWarp + kLanesPerWarp - 1);
  }
  const std::string wrong = tensor_core(*thread.block).memory.misplaced(first, columns, 1);
  if (!wrong.empty()) {
    fault(thread, "{} {} columns of tensor memory from {} on, {}", does, columns,
          first & kColumnMask, wrong);
  }
}

// What its warp has waited for, a thread need not be told by anybody.
void see_own(Thread& thread) {
  const TensorWarp& warp = thread.warp().tensor;
  if (warp.store_actor == 0) return;
  thread.tensor.fenced.see(warp.store_actor, warp.stored_count);
}

// All lanes name the same place.
void check_alike(const Warp& warp, const char* does, TensorAddress first, const Thread& thread) {
  for (const Thread* const other : warp.meeting.arrived()) {
    if (warp.given[static_cast<std::size_t>(other->index % kWarpThreads)] == first) continue;
    fault(*other, "{} another place of tensor memory than thread {} of its warp", does,
          thread.index);
  }
}

}  // namespace

void tensor_allocate(SharedAddress where, u32 columns) {
  Thread& thread = self();
  Block& block = *thread.block;
  check_allocation(thread, columns, 1, "tensor_allocate");
  if (!meet(thread, "tensor_allocate")) return;
  const u32 first = tensor_core(block).memory.allocate(
      columns, block.grid->random().below(kTensorColumns), nullptr);
  check_found(thread, first, columns);
  store_shared_bytes(where, &first, sizeof first);
  thread.warp().meeting.release();
}

void tensor_allocate_pair(SharedAddress where, u32 columns) {
  Thread& thread = self();
  const emulator::TensorBlocks blocks =
      check_allocation(thread, columns, 2, "tensor_allocate_pair");
  if (thread.cluster_waits == 0) {
    fault(thread,
          "allocates tensor memory with another block, and nothing tells that it has begun");
  }
  if (!meet(thread, "tensor_allocate_pair")) return;
  const u32 first = meet_other(thread, "tensor_allocate_pair", columns, where, [&] {
    TensorMemory& one = tensor_core(*blocks.of[0]).memory;
    TensorMemory& other = tensor_core(*blocks.of[1]).memory;
    return one.allocate(columns, thread.block->grid->random().below(kTensorColumns), &other);
  });
  check_found(thread, first, columns);
  store_shared_bytes(where, &first, sizeof first);
  thread.warp().meeting.release();
}

void tensor_free(TensorAddress first, u32 columns) {
  Thread& thread = self();
  emulator::tensor_blocks(thread, 1, "tensor_free");
  check_idle(thread, first, columns);
  if (!meet(thread, "tensor_free")) return;
  release(thread, first, columns);
  thread.warp().meeting.release();
}

void tensor_free_pair(TensorAddress first, u32 columns) {
  Thread& thread = self();
  emulator::tensor_blocks(thread, 2, "tensor_free_pair");
  check_idle(thread, first, columns);
  if (!meet(thread, "tensor_free_pair")) return;
  meet_other(thread, "tensor_free_pair", columns, first, [] { return 0; });
  release(thread, first, columns);
  thread.warp().meeting.release();
}

void tensor_allocate_no_more(Site site) {
  if (leaves_out(site, "tensor_allocate_no_more")) return;
  Thread& thread = self();
  emulator::tensor_blocks(thread, 1, "tensor_allocate_no_more");
  if (!meet(thread, "tensor_allocate_no_more")) return;
  tensor_core(*thread.block).allocates_no_more = true;
  thread.warp().meeting.release();
}

void tensor_allocate_no_more_pair(const Site& site) {
  if (leaves_out(site, "tensor_allocate_no_more")) return;
  Thread& thread = self();
  emulator::tensor_blocks(thread, 2, "tensor_allocate_no_more_pair");
  if (!meet(thread, "tensor_allocate_no_more_pair")) return;
  meet_other(thread, "tensor_allocate_no_more_pair", 0, 0, [] { return 0; });
  tensor_core(*thread.block).allocates_no_more = true;
  thread.warp().meeting.release();
}

void tensor_fence_before(Site site) {
  if (leaves_out(site, "tensor_fence_before")) return;
  Thread& thread = self();
  const TensorWarp& warp = thread.warp().tensor;
  if (warp.actor != 0) thread.knowledge.see(warp.actor, warp.waited_count);
  if (warp.store_actor != 0) thread.knowledge.see(warp.store_actor, warp.stored_count);
}

void tensor_fence_after(Site site) {
  if (leaves_out(site, "tensor_fence_after")) return;
  Thread& thread = self();
  thread.tensor.fenced.join(thread.knowledge);
}

void tensor_copy_scales(TensorAddress destination, u64 descriptor) {
  copy_scales(destination, descriptor, 1, kLanesPerWarp, "tensor_copy_scales");
}

void tensor_copy_scales_pair(TensorAddress destination, u64 descriptor) {
  copy_scales(destination, descriptor, 2, kLanesPerWarp, "tensor_copy_scales_pair");
}

void tensor_copy_scales_by_halves(TensorAddress destination, u64 descriptor) {
  copy_scales(destination, descriptor, 2, 2 * kLanesPerWarp, "tensor_copy_scales_by_halves");
}

void tensor_multiply(const BlockScaledMma& mma) { multiply(mma, 1, "tensor_multiply"); }

void tensor_multiply_pair(const BlockScaledMma& mma) { multiply(mma, 2, "tensor_multiply_pair"); }

void tensor_commit(SharedAddress barrier, Site site) {
  if (!leaves_out(site, "tensor_commit")) commit(barrier, 1, "tensor_commit");
}

void tensor_commit_to_blocks(SharedAddress barrier, u32 blocks, Site site) {
  if (leaves_out(site, "tensor_commit_to_blocks")) return;
  commit_to_blocks(barrier, blocks, "tensor_commit_to_blocks");
}

void tensor_commit_pair(SharedAddress barrier, const Site& site) {
  if (!leaves_out(site, "tensor_commit")) commit(barrier, 2, "tensor_commit_pair");
}

void tensor_load_columns(TensorAddress first, float* values, u32 columns) {
  Thread& thread = self();
  Warp& warp = thread.warp();
  check_warp_place(thread, "loads", first, columns);
  see_own(thread);
  const int lane = lane_index();
  warp.given[static_cast<std::size_t>(lane)] = first;
  warp.tensor.arriving.push_back({lane, values, first & kColumnMask, columns, {}});
  std::fill_n(values, columns, std::bit_cast<float>(kLoadInFlight));
  if (!meet(thread, "tensor_load")) return;
  TensorWarp& tensor = warp.tensor;
  if (tensor.actor == 0) tensor.actor = thread.block->new_actor("", "");
  ++tensor.load_count;
  check_alike(warp, "loads from", first, thread);
  const u32 quarter = quarter_of_warp();
  for (const Thread* const other : warp.meeting.arrived()) {
    tensor_core(*thread.block)
        .memory.note_read({.first = first & kColumnMask,
                           .columns = columns,
                           .quarter = quarter,
                           .what = "values"},
                          {.thread = other,
                           .word = TensorWord::kLoad,
                           .actor = tensor.actor,
                           .event = tensor.load_count});
  }
  tensor.loads.insert(tensor.loads.end(), tensor.arriving.begin(), tensor.arriving.end());
  tensor.arriving.clear();
  warp.meeting.release();
}

void tensor_wait_for(const float* values, const Site& site) {
  if (leaves_out(site, "tensor_wait_loads")) return;
  Thread& thread = self();
  TensorWarp& tensor = thread.warp().tensor;
  tensor.named[static_cast<std::size_t>(lane_index())] = values;
  if (!meet(thread, "tensor_wait_loads")) return;
  TensorMemory& memory = tensor_core(*thread.block).memory;
  const u32 quarter = quarter_of_warp();
  for (TensorWarp::Load& load : tensor.loads) {
    const u32 lane = quarter * kLanesPerWarp + static_cast<u32>(load.lane);
    for (u32 i = static_cast<u32>(load.complete.size()); i < load.columns; ++i) {
      load.complete.push_back(std::bit_cast<float>(memory.at(lane, load.first_column + i)));
    }
  }
  std::erase_if(tensor.loads, [&](const TensorWarp::Load& load) {
    if (tensor.named[static_cast<std::size_t>(load.lane)] != load.values) return false;
    std::copy(load.complete.begin(), load.complete.end(), load.values);
    return true;
  });
  tensor.waited_count = tensor.load_count;
  thread.warp().meeting.release();
}

void tensor_store_columns(TensorAddress first, const float* values, u32 columns) {
  Thread& thread = self();
  Warp& warp = thread.warp();
  TensorWarp& tensor = warp.tensor;
  check_warp_place(thread, "stores", first, columns);
  see_own(thread);
  if (tensor.actor != 0) thread.tensor.fenced.see(tensor.actor, tensor.waited_count);
  const int lane = lane_index();
  warp.given[static_cast<std::size_t>(lane)] = first;
  const u32 quarter = quarter_of_warp();
  tensor.stores.push_back({quarter * kLanesPerWarp + static_cast<u32>(lane),
                           first & kColumnMask,
                           {values, values + columns}});
  if (!meet(thread, "tensor_store")) return;
  if (tensor.store_actor == 0) tensor.store_actor = thread.block->new_actor("", "");
  ++tensor.store_count;
  check_alike(warp, "stores to", first, thread);
  TensorMemory& memory = tensor_core(*thread.block).memory;
  const TensorMemory::Area area{
      .first = first & kColumnMask, .columns = columns, .quarter = quarter, .what = "values"};
  emulator::TensorAccess access{.thread = &thread,
                                .word = TensorWord::kStore,
                                .actor = tensor.store_actor,
                                .event = tensor.store_count};
  for (const Thread* const other : warp.meeting.arrived()) {
    access.thread = other;
    memory.check_write(area, access);
  }
  memory.note_write(area, access);
  warp.meeting.release();
}

// Until then nobody may look, so nobody sees when they arrive.
void tensor_wait_stores(Site site) {
  if (leaves_out(site, "tensor_wait_stores")) return;
  Thread& thread = self();
  if (!meet(thread, "tensor_wait_stores")) return;
  TensorWarp& tensor = thread.warp().tensor;
  TensorMemory& memory = tensor_core(*thread.block).memory;
  for (const TensorWarp::Store& store : std::exchange(tensor.stores, {})) {
    for (u32 i = 0; i < store.values.size(); ++i) {
      memory.at(store.lane, store.first_column + i) = std::bit_cast<u32>(store.values[i]);
    }
  }
  tensor.stored_count = tensor.store_count;
  thread.warp().meeting.release();
}

}  // namespace thresher::gpu::hw
