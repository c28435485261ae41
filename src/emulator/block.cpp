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

Block::Block(Grid& owner, int block_index, std::shared_ptr<Cluster> of_cluster)
    : grid(&owner),
      cluster(std::move(of_cluster)),
      index(block_index),
      rank(cluster->size()),
      number(owner.known_at_start().first_block + static_cast<u32>(block_index - rank)),
      shared(owner.options().shared_bytes),
      threads(static_cast<std::size_t>(owner.options().thread_count)) {
  cluster->blocks.push_back(this);
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
    thread.index_in_cluster = rank * thread_count + i;
    thread.registers = registers_at_start(owner.options());
    thread.knowledge.views = owner.known_at_start().views;
    thread.knowledge.see_complete_below(owner.known_at_start().complete_below);
    thread.advance();  // events are counted from 1
    thread.warpgroup().threads[static_cast<std::size_t>(i % kWarpgroupThreads)] = &thread;
  }
}

Barrier& Block::barrier_at(const Thread& user, SharedAddress address) {
  const std::string of_block = user.block == this ? "" : fmt::format(" of block {}", index);
  const auto found = barriers.find(address);
  if (found == barriers.end()) {
    fault(user, "uses a barrier at {:#x}{}, where none was initialised", address, of_block);
  }
  Barrier& barrier = found->second;
  if (user.knowledge.seen(barrier.initialised_by) < barrier.initialised_in) {
    fault(user, "uses the barrier at {:#x}{}, which {} initialised with no sync in between",
          address, of_block, cluster->name_of_thread(barrier.initialised_by, user.block->rank));
  }
  return barrier;
}

std::vector<Block*> blocks_of(const Thread& thread, u32 bits, const char* word) {
  const std::vector<Block*>& all = thread.block->cluster->blocks;
  if (bits == 0 || bits >> all.size() != 0) {
    fault(thread, "says {} to blocks {:#b} of a cluster of {}", word, bits, all.size());
  }
  std::vector<Block*> some;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if ((bits >> rank & 1) != 0) some.push_back(all[rank]);
  }
  return some;
}

Block* Block::peer() const {
  const int other = rank ^ 1;
  return other < cluster->size() ? cluster->blocks[static_cast<std::size_t>(other)] : nullptr;
}

}  // namespace thresher::emulator
