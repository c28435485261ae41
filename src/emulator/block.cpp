// SPDX-License-Identifier: Apache-2.0
#include "emulator/block.hpp"

#include <algorithm>
#include <utility>

#include "emulator/fault.hpp"
#include "emulator/grid.hpp"

namespace thresher::emulator {
namespace {

constexpr int kRegistersPerBlock = 65536;
constexpr int kRegistersMax = 255;

int registers_at_start(const LaunchOptions& options) {
  if (options.register_count != 0) return options.register_count;
  return std::min(kRegistersMax, kRegistersPerBlock / options.thread_count) / 8 * 8;
}

}  // namespace

Warp& Thread::warp() const {
  return block->warps[static_cast<std::size_t>(index / gpu::hw::kWarpThreads)];
}

Warpgroup& Thread::warpgroup() const {
  return *block->warpgroups[static_cast<std::size_t>(index / kWarpgroupThreads)];
}

std::string Thread::name() const {
  return fmt::format("block {}, thread {} (warp {})", block->index, index,
                     index / gpu::hw::kWarpThreads);
}

void Thread::fence_async() {
  knowledge.fence(actor(), event());
  if (piece_actor != 0) knowledge.fence(piece_actor, knowledge.seen(piece_actor));
  advance();
}

Block::Block(Grid& owner, int block_index)
    : grid(&owner),
      index(block_index),
      number(owner.known_at_start().first_block + static_cast<u32>(block_index)),
      shared(owner.options().shared_bytes),
      threads(static_cast<std::size_t>(owner.options().thread_count)) {
  const int thread_count = owner.options().thread_count;
  for (int i = 0; i < thread_count; i += gpu::hw::kWarpThreads) {
    warps.push_back({.meeting = Meeting(gpu::hw::kWarpThreads),
                     .elected_lane = owner.random().between(0, gpu::hw::kWarpThreads - 1)});
  }
  for (int i = 0; i < thread_count; i += kWarpgroupThreads) {
    warpgroups.push_back(std::make_unique<Warpgroup>(
        *this, i / kWarpgroupThreads, std::min(kWarpgroupThreads, thread_count - i)));
  }
  for (int i = 0; i < thread_count; ++i) {
    Thread& thread = threads[static_cast<std::size_t>(i)];
    thread.block = this;
    thread.index = i;
    thread.registers = registers_at_start(owner.options());
    thread.knowledge.views = owner.known_at_start().views;
    thread.knowledge.see_complete_below(owner.known_at_start().complete_below);
    thread.advance();  // events are counted from 1
    thread.warpgroup().threads[static_cast<std::size_t>(i % kWarpgroupThreads)] = &thread;
  }
}

Barrier& Block::barrier_at(const Thread& user, SharedAddress address) {
  const auto found = barriers.find(address);
  if (found == barriers.end()) {
    fault(user, "uses a barrier at {:#x}, where none was initialised", address);
  }
  Barrier& barrier = found->second;
  if (user.knowledge.seen(barrier.initialised_by) < barrier.initialised_in) {
    fault(user, "uses the barrier at {:#x}, which thread {} initialised with no sync in between",
          address, barrier.initialised_by);
  }
  return barrier;
}

Actor Block::new_actor(std::string write_text, std::string read_text) {
  actors_.push_back({.write = std::move(write_text), .read = std::move(read_text)});
  return static_cast<Actor>(threads.size() + actors_.size() - 1);
}

std::string Block::describe_write(Actor actor, u32 event) const {
  if (actor < threads.size()) {
    return fmt::format("thread {} wrote with no barrier in between", actor);
  }
  return fmt::format(fmt::runtime(actors_[actor - threads.size()].write), event - 1);
}

std::string Block::describe_read(Actor actor) const {
  if (actor < threads.size()) {
    return fmt::format("thread {} reads with no barrier in between", actor);
  }
  return actors_[actor - threads.size()].read;
}

}  // namespace thresher::emulator
