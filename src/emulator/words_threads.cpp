// SPDX-License-Identifier: Apache-2.0
// The words of threads acting together: barriers of the block, warps, registers.
#include <utility>

#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::fault;
using emulator::self;
using emulator::Thread;
using emulator::Wait;
using emulator::Warp;

int thread_index() { return self().index; }
int thread_count() { return self().block->grid->options().thread_count; }
int block_index() { return self().block->index; }
const LaunchTypes& launch_types() { return self().block->grid->options().types; }
int block_count() { return self().block->grid->options().block_count; }

namespace {

// One arrival at a named barrier. The last one hands what all arrivals knew to those that wait;
// arrivals that do not wait learn nothing.
void arrive(Thread& thread, int id, int threads, bool waits) {
  if (threads % kWarpThreads != 0 || threads <= 0 || threads > thread_count()) {
    fault(thread, "uses named barrier {} with {} threads, which is no multiple of 32 up to {}", id,
          threads, thread_count());
  }
  emulator::NamedBarrier& barrier = thread.block->named[static_cast<std::size_t>(id)];
  if (barrier.arrived_count == 0) barrier.thread_count = threads;
  if (barrier.thread_count != threads) {
    fault(thread, "uses named barrier {} with {} threads, others in the same round with {}", id,
          threads, barrier.thread_count);
  }
  ++barrier.arrived_count;
  barrier.gathered.join(thread.knowledge);
  if (barrier.arrived_count < threads) {
    if (!waits) return thread.advance();
    barrier.waiting.push_back(&thread);
    thread.block->grid->wait(thread, {.kind = Wait::Kind::kNamed, .named_id = id});
    return thread.advance();
  }
  barrier.arrived_count = 0;
  if (waits) thread.knowledge.join(barrier.gathered);
  for (Thread* const other : std::exchange(barrier.waiting, {})) {
    other->knowledge.join(barrier.gathered);
    thread.block->grid->wake(*other);
  }
  barrier.gathered = {};
  thread.advance();
}

void check_named_id(int id) {
  if (id < 1 || id > 15) fault(self(), "uses named barrier {}; there are 1 to 15", id);
}

// A word by which each lane gives a value and takes another's.
template <typename Choose>
u32 exchange(u32 value, const char* word, Choose lane_for) {
  Thread& thread = self();
  Warp& warp = thread.warp();
  const int lane = lane_index();
  warp.given[static_cast<std::size_t>(lane)] = value;
  const int source = lane_for(lane);
  if (source < 0 || source >= kWarpThreads) fault(thread, "says {} with lane {}", word, source);
  // The values are taken over before anybody goes on, for a lane that goes on may give the next.
  if (warp.meeting.join(thread, word)) {
    warp.taken = warp.given;
    warp.meeting.release();
  }
  return warp.taken[static_cast<std::size_t>(source)];
}

}  // namespace

void sync_block(Site site) {
  if (leaves_out(site, "sync_block")) return;
  Thread& thread = self();
  if (thread.block->ended_count > 0) {
    fault(thread, "says sync_block, but thread {} has ended", thread.block->last_ended_index);
  }
  thread.warp().aligned.say(thread, "sync_block");
  arrive(thread, 0, thread_count(), /*waits=*/true);
}

void sync_named(int id, int threads, Site site) {
  if (leaves_out(site, "sync_named")) return;
  check_named_id(id);
  Thread& thread = self();
  thread.warp().aligned.say(thread, "sync_named");
  arrive(thread, id, threads, /*waits=*/true);
}

void arrive_named(int id, int threads, Site site) {
  if (leaves_out(site, "arrive_named")) return;
  check_named_id(id);
  Thread& thread = self();
  thread.warp().aligned.say(thread, "arrive_named");
  arrive(thread, id, threads, /*waits=*/false);
}

void sync_warp(Site site) {
  if (leaves_out(site, "sync_warp")) return;
  Thread& thread = self();
  Warp& warp = thread.warp();
  if (warp.meeting.join(thread, "sync_warp")) {
    emulator::Knowledge all;
    for (const Thread* const lane : warp.meeting.arrived()) all.join(lane->knowledge);
    for (Thread* const lane : warp.meeting.arrived()) {
      lane->knowledge = all;
      lane->advance();
    }
    warp.meeting.release();
  }
}

u32 shuffle(u32 value, int lane) {
  return exchange(value, "shuffle", [=](int) { return lane & (kWarpThreads - 1); });
}

u32 shuffle_xor(u32 value, int mask) {
  return exchange(value, "shuffle_xor", [=](int lane) { return lane ^ mask; });
}

u32 ballot(bool yes) {
  u32 votes = 0;
  for (int lane = 0; lane < kWarpThreads; ++lane) {
    votes |= exchange(yes ? 1 : 0, "ballot", [=](int) { return lane; }) << lane;
  }
  return votes;
}

u32 broadcast(u32 value) {
  return exchange(value, "broadcast", [](int) { return 0; });
}

int broadcast(int value) { return static_cast<int>(broadcast(static_cast<u32>(value))); }

u32 uniform(u32 value) {
  const u32 first = exchange(value, "uniform", [](int) { return 0; });
  if (value != first) fault(self(), "says uniform with {}, and lane 0 with {}", value, first);
  return first;
}

bool elect_one() {
  Thread& thread = self();
  Warp& warp = thread.warp();
  if (warp.meeting.join(thread, "elect_one")) warp.meeting.release();
  return lane_index() == warp.elected_lane;
}

void registers_change(int registers, bool grow) {
  Thread& thread = self();
  emulator::Block& block = *thread.block;
  const char* const word = grow ? "registers_grow" : "registers_shrink";
  if (registers % 8 != 0 || registers < 24 || registers > 256) {
    fault(thread, "says {} with {}, which is no multiple of 8 from 24 to 256", word, registers);
  }
  if (grow ? registers < thread.registers : registers > thread.registers) {
    fault(thread, "says {} with {} while it has {}", word, registers, thread.registers);
  }
  emulator::Meeting& meeting = thread.warpgroup().meeting;
  if (meeting.join(thread, word)) meeting.release();
  const int more = registers - thread.registers;
  while (block.registers_free < more) {
    block.waiting_for_registers.push_back(&thread);
    block.grid->wait(thread, {.kind = Wait::Kind::kRegisters, .registers = more});
  }
  block.registers_free -= more;
  thread.registers = registers;
  if (more >= 0) return;
  for (Thread* const other : std::exchange(block.waiting_for_registers, {})) {
    block.grid->wake(*other);
  }
}

void wait_for_previous_kernel(Site site) {
  if (leaves_out(site, "wait_for_previous_kernel")) return;
  Thread& thread = self();
  thread.block->grid->history().wait_for_previous(thread);
}

void start_next_kernel(Site site) {
  if (leaves_out(site, "start_next_kernel")) return;
  const Thread& thread = self();
  thread.block->grid->history().start_next(*thread.block, thread.knowledge);
}

}  // namespace thresher::gpu::hw
