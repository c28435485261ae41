// SPDX-License-Identifier: Apache-2.0
#include "emulator/grid.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "assert.hpp"
#include "emulator/deadlock.hpp"
#include "emulator/fault.hpp"

namespace thresher::emulator {
namespace {

// A thread gives way at one access in so many, so that threads meet in the middle of things.
constexpr std::uint64_t kPauseOdds = 32;
// So many looks at global memory in a row, with nothing else going on, will never see a change.
constexpr std::uint64_t kSpinsMax = 400'000;

thread_local Thread* running_thread = nullptr;

void check_options(const LaunchOptions& options) {
  if (options.block_count < 0 || options.resident_block_count < 1) {
    throw Error(fmt::format("launch: {} blocks, {} resident", options.block_count,
                            options.resident_block_count));
  }
  if (options.thread_count < 32 || options.thread_count > 1024 || options.thread_count % 32 != 0) {
    throw Error(fmt::format("launch: {} threads per block is no multiple of 32 from 32 to 1024",
                            options.thread_count));
  }
  const int cluster = options.cluster_blocks;
  if (cluster < 1 || cluster > 8 || !std::has_single_bit(static_cast<unsigned>(cluster)) ||
      options.block_count % cluster != 0) {
    throw Error(fmt::format("launch: {} blocks in clusters of {}", options.block_count, cluster));
  }
  if (options.shared_bytes > kSharedBytesMax) {
    throw Error(fmt::format("launch: {} bytes of shared memory, a block can have {}",
                            options.shared_bytes, kSharedBytesMax));
  }
}

bool somebody_knows(const Block& block, Actor actor, u32 event) {
  return std::any_of(block.threads.begin(), block.threads.end(),
                     [=](const Thread& thread) { return thread.knowledge.seen(actor) >= event; });
}

// What threads of other blocks do to a block's memory must be over, and known to be, before it
// ends.
void check_others_are_done(const Block& block) {
  for (const auto& [address, barrier] : block.barriers) {
    for (const auto& [actor, event] : barrier.remote_arrivals) {
      if (somebody_knows(block, actor, event)) continue;
      throw Error(
          fmt::format("block {} ends, and nothing tells it that {} has arrived at its barrier at "
                      "{:#x}: the block could have been gone",
                      block.index, block.cluster->name_of_thread(actor, block.rank), address));
    }
  }
  for (const auto& [actor, work] : block.others_work) {
    if (somebody_knows(block, actor, work.event)) continue;
    throw Error(fmt::format("block {} ends, and nothing tells it that {}", block.index, work.what));
  }
  const Block* const peer = block.peer();
  if (peer == nullptr || block.grid->tensor_blocks() != 2) return;
  for (const Thread& thread : peer->threads) {
    const TensorThread& tensor = thread.tensor;
    if (tensor.actor == 0 || somebody_knows(block, tensor.actor, tensor.event_count)) continue;
    throw Error(
        fmt::format("block {} ends, and nothing tells it that the MMAs and copies of {}, which use "
                    "its memory, are complete",
                    block.index, thread.name()));
  }
}

}  // namespace

Thread& self() {
  THRESHER_ASSERT(running_thread != nullptr);
  return *running_thread;
}

// The seed also decides the kind of run: how soon work in flight completes, and whether one warp
// lags far behind the others.
Grid::Grid(const LaunchOptions& options, const std::function<void()>& kernel)
    : options_(options),
      kernel_(kernel),
      random_(options.seed),
      history_(options.history != nullptr ? options.history : &own_history_) {
  check_options(options);
  start_ = history_->begin_launch(options);
  constexpr std::uint64_t kCompletionOdds[] = {0, 256, 16, 2};
  completion_odds_ = kCompletionOdds[random_.below(4)];
  slow_warp_ = random_.between(-2, options.thread_count / gpu::hw::kWarpThreads - 1);
}

void Grid::run() {
  while (true) {
    make_resident();
    if (ready_.empty()) {
      if (blocks_.empty()) return history_->end_launch();
      if (operations_.empty()) throw Error(deadlock_report(blocks_));
      advance_some_operation();
      continue;
    }
    if (completion_odds_ != 0 && !operations_.empty() && random_.below(completion_odds_) == 0) {
      advance_some_operation();
    }
    run_thread(next_thread());
  }
}

void Grid::make_resident() {
  const int size = options_.cluster_blocks;
  while (next_block_index_ < options_.block_count &&
         (blocks_.empty() ||
          static_cast<int>(blocks_.size()) + size <= options_.resident_block_count)) {
    const auto cluster = std::make_shared<Cluster>(size, options_.thread_count);
    for (int i = 0; i < size; ++i) begin_block(cluster);
  }
}

void Grid::begin_block(const std::shared_ptr<Cluster>& cluster) {
  Block& block = blocks_.emplace_back(*this, next_block_index_++, cluster);
  for (Thread& thread : block.threads) {
    thread.fibre = std::make_unique<Fibre>([this, &thread] {
      kernel_();
      end_thread(thread);
    });
    ready_.push_back(&thread);
  }
}

Thread& Grid::next_thread() {
  std::size_t chosen = 0;
  for (int attempt = 0; attempt < 6; ++attempt) {
    chosen = random_.below(ready_.size());
    if (ready_[chosen]->index / gpu::hw::kWarpThreads != slow_warp_) break;
  }
  Thread& thread = *ready_[chosen];
  ready_[chosen] = ready_.back();
  ready_.pop_back();
  return thread;
}

void Grid::run_thread(Thread& thread) {
  running_thread = &thread;
  try {
    thread.fibre->resume();
  } catch (...) {
    running_thread = nullptr;
    throw;
  }
  running_thread = nullptr;
  if (thread.ended) {
    thread.fibre.reset();
    Block& block = *thread.block;
    if (block.ended_count == options_.thread_count) end_block(block);
  }
}

void Grid::wait(Thread& thread, const Wait& wait) {
  thread.wait = wait;
  spin_count_ = 0;
  thread.fibre->suspend();
}

void Grid::wake(Thread& thread) {
  thread.wait = {};
  ready_.push_back(&thread);
}

void Grid::pause(Thread& thread) {
  spin_count_ = 0;
  if (random_.below(kPauseOdds) != 0) return;
  ready_.push_back(&thread);
  thread.fibre->suspend();
}

void Grid::spin(Thread& thread) {
  if (++spin_count_ > kSpinsMax) {
    fault(thread, "looks at global memory again and again while no thread does anything else");
  }
  ready_.push_back(&thread);
  thread.fibre->suspend();
}

void Grid::start(std::shared_ptr<Operation> operation) {
  operations_.push_back(std::move(operation));
}

void Grid::advance_some_operation() {
  const std::size_t chosen = random_.below(operations_.size());
  operations_[chosen]->advance();
  if (!operations_[chosen]->done()) return;
  operations_[chosen] = std::move(operations_.back());
  operations_.pop_back();
}

void Grid::complete_phase_if_due(Barrier& barrier) {
  if (!barrier.phase_complete()) return;
  ++barrier.phase;
  barrier.arrivals_missing = barrier.arrivals_per_phase;
  barrier.gathered.see(barrier.actor, barrier.phase);
  if (barrier.far_copy_actor != 0) barrier.gathered_far.see(barrier.far_copy_actor, barrier.phase);
  barrier.released = barrier.gathered;
  barrier.released_far = barrier.gathered_far;
  for (Thread* const thread : std::exchange(barrier.waiting, {})) {
    thread->knowledge.join(barrier.released);
    if (thread->wait.cluster_wide) thread->knowledge.join(barrier.released_far);
    wake(*thread);
  }
}

void Grid::end_thread(Thread& thread) {
  Block& block = *thread.block;
  if (!thread.copies.empty() && thread.copies.back()->group() > thread.copy_groups_waited) {
    fault(thread, "ends without waiting for its copies to global memory to leave shared memory");
  }
  if (!thread.pieces.empty()) {
    fault(thread, "ends without waiting for its copies of pieces to shared memory");
  }
  if (!thread.warp().tensor.loads.empty()) {
    fault(thread, "ends without a tensor_wait_loads that names what it loaded");
  }
  if (!thread.warp().tensor.stores.empty()) {
    fault(thread, "ends without a tensor_wait_stores behind what it stored");
  }
  thread.warpgroup().check_ended(thread);
  thread.warp().meeting.leave(thread);
  thread.warpgroup().meeting.leave(thread);
  if (block.named[0].arrived_count > 0) {
    fault(thread, "ends while {} threads wait for it at sync_block", block.named[0].arrived_count);
  }
  if (thread.cluster_arrivals != thread.cluster_waits) {
    fault(thread, "ends without cluster_wait behind its last cluster_arrive");
  }
  if (block.cluster->barrier.arrived_count > 0) {
    fault(thread, "ends while {} threads of its cluster have said cluster_arrive, and it has not",
          block.cluster->barrier.arrived_count);
  }
  thread.ended = true;
  ++block.ended_count;
  block.last_ended_index = thread.index;
}

// What is still on its way to global memory arrives. Nothing may be on its way to shared memory, so
// somebody must have waited for the last copy of every barrier.
void Grid::end_block(Block& block) {
  for (const auto& [address, barrier] : block.barriers) {
    const u32 actors[] = {barrier.actor, barrier.far_copy_actor};
    const u32 events[] = {barrier.last_copy_event, barrier.last_far_copy_event};
    for (int i = 0; i < 2; ++i) {
      if (somebody_knows(block, static_cast<Actor>(actors[i]), events[i])) continue;
      throw Error(
          fmt::format("block {} ends without waiting for phase {} of the barrier at {:#x}, "
                      "to which a copy or a commit{} belongs",
                      block.index, events[i] - 1, address, i == 0 ? "" : " of another block"));
    }
  }
  if (block.tensor != nullptr && block.tensor->memory.allocated_columns() > 0) {
    throw Error(fmt::format("block {} ends with {} columns of tensor memory not freed", block.index,
                            block.tensor->memory.allocated_columns()));
  }
  for (const Thread& thread : block.threads) {
    if (thread.tensor.in_flight.empty()) continue;
    fault(thread, "has words of tcgen05 in flight when its block ends: nobody waited for a commit");
  }
  check_others_are_done(block);
  end_operations(block);
  Knowledge all;
  for (const Thread& thread : block.threads) all.join(thread.knowledge);
  history_->start_next(block, all);
  const std::shared_ptr<Cluster> cluster = block.cluster;
  if (++cluster->ended_count < cluster->size()) return;  // others may still look for it
  blocks_.remove_if([&](const Block& other) { return other.cluster == cluster; });
}

void Grid::end_operations(const Block& block) {
  const auto is_its = [&](const auto& operation) { return &operation->block() == &block; };
  for (const auto& operation : operations_) {
    if (!is_its(operation)) continue;
    while (!operation->done()) operation->advance();
  }
  std::erase_if(operations_, is_its);
}

void launch(const LaunchOptions& options, const std::function<void()>& kernel) {
  THRESHER_ASSERT(running_thread == nullptr);
  Grid(options, kernel).run();
}

}  // namespace thresher::emulator
