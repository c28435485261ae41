// SPDX-License-Identifier: Apache-2.0
#include "emulator/mma.hpp"

#include <bit>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"

namespace thresher::emulator {
namespace {

// What an accumulator holds while it is not to be read: a NaN that no arithmetic produces.
constexpr u32 kInFlight = 0x7fa5'5a5a;

// Row and column of d[i] in thread t, and back through this alone.
int row_of(int t, int i) { return 16 * (t / 32) + t % 32 / 4 + (i & 2) * 4; }
int column_of(int t, int i) { return 8 * (i / 4) + 2 * (t % 4) + (i & 1); }

bool same_words(const MmaRequest& x, const MmaRequest& y) {
  return x.shape.columns == y.shape.columns && x.shape.operand == y.shape.operand &&
         x.a_descriptor == y.a_descriptor && x.b_descriptor == y.b_descriptor && x.add == y.add;
}

void check_agreement(const Warpgroup& group) {
  for (int t = 1; t < kWarpgroupThreads; ++t) {
    const MmaRequest& request = group.requests[static_cast<std::size_t>(t)];
    const Thread& thread = *group.threads[static_cast<std::size_t>(t)];
    if (!same_words(request, group.requests[0])) {
      fault(thread,
            "issues an MMA with B {:#x}, A {:#x}, add {}, thread {} of its warpgroup with B "
            "{:#x}, A {:#x}, add {}",
            request.b_descriptor, request.a_descriptor, request.add, group.threads[0]->index,
            group.requests[0].b_descriptor, group.requests[0].a_descriptor, group.requests[0].add);
    }
    if (thread.mma.group_count != group.threads[0]->mma.group_count) {
      fault(thread, "has committed {} groups of MMAs, thread {} of its warpgroup {}",
            thread.mma.group_count, group.threads[0]->index, group.threads[0]->mma.group_count);
    }
  }
}

// Registers written since their last use need a fence before the next. A fence that came too early,
// before the write, cannot be told from a good one: registers are plain variables here.
void check_fence(Thread& thread, const u32* a) {
  MmaThread& mma = thread.mma;
  if (mma.fence_count == 0) fault(thread, "issues its first MMA without an mma_fence");
  if (a == nullptr) return;
  MmaThread::Fragment* fragment = nullptr;
  for (MmaThread::Fragment& known : mma.fragments) {
    if (known.a == a) fragment = &known;
  }
  if (fragment == nullptr) {
    fragment = &mma.fragments.emplace_back();
    fragment->a = a;
  } else if (fragment->fence_count == mma.fence_count &&
             std::memcmp(fragment->values.data(), a, sizeof(fragment->values)) != 0) {
    fault(thread, "issues an MMA whose A registers it wrote after its last mma_fence");
  }
  std::memcpy(fragment->values.data(), a, sizeof(fragment->values));
  fragment->fence_count = mma.fence_count;
}

void check_operand(const Warpgroup& group, u64 descriptor, int row_count, char operand, u32 event) {
  const Thread& thread = *group.threads[0];
  const std::string wrong = descriptor_fault(descriptor, row_count);
  if (!wrong.empty()) fault(thread, "gives an MMA a descriptor of {} that {}", operand, wrong);
  const MatrixView view = decode_descriptor(descriptor);
  const Access access{.threads = group.threads.data(),
                      .thread_count = kWarpgroupThreads,
                      .actor = group.actor,
                      .event = event,
                      .by = " by an MMA",
                      .async = true};
  SharedMemory& shared = group.block->shared;
  for (int row = 0; row < row_count; ++row) {
    for (int chunk = 0; chunk < 2; ++chunk) {
      const SharedAddress address = view.chunk_address(row, chunk);
      const std::string misplaced = shared.misplaced(address, 16, 16);
      if (!misplaced.empty()) {
        fault(thread, "gives an MMA a descriptor of {} whose row {} lies at {:#x}, {}", operand,
              row, address, misplaced);
      }
      shared.note_read(address, 16, access);
    }
  }
}

}  // namespace

Warpgroup::Warpgroup(Block& owner, int warpgroup_index, int thread_count)
    : block(&owner),
      index(warpgroup_index),
      meeting(thread_count),
      actor(owner.new_actor(
          "", fmt::format("MMAs of warpgroup {} may still be reading: the thread has not seen "
                          "their mma_wait",
                          warpgroup_index))) {}

void Warpgroup::issue() {
  check_agreement(*this);
  auto mma = std::make_unique<Mma>();
  const MmaRequest& first = requests[0];
  mma->event = ++event_count;
  mma->group = threads[0]->mma.group_count;
  mma->requests = requests;
  for (std::size_t t = 0; t < kWarpgroupThreads; ++t) {
    check_fence(*threads[t], requests[t].a);
    if (first.a != nullptr) std::memcpy(mma->a_at_issue[t].data(), requests[t].a, 4 * sizeof(u32));
  }
  if (first.a == nullptr) {
    check_operand(*this, first.a_descriptor, kMmaRows, 'A', mma->event);
    mma->a = decode_descriptor(first.a_descriptor);
  }
  check_operand(*this, first.b_descriptor, first.shape.columns, 'B', mma->event);
  mma->b = decode_descriptor(first.b_descriptor);
  mma->sums = &sums_for_requests(mma->event);
  in_flight.push_back(std::move(mma));
  block->grid->start(std::make_shared<MmaOperation>(*block, *this));
}

// Accumulators already in flight go on; others are taken over from the threads.
Sums& Warpgroup::sums_for_requests(u32 event) {
  const int columns = requests[0].shape.columns;
  for (Sums& known : sums) {
    std::size_t shared_count = 0;
    for (std::size_t t = 0; t < kWarpgroupThreads; ++t) {
      shared_count += known.d[t] == requests[t].d && !known.delivered[t] ? 1 : 0;
    }
    if (shared_count == 0) continue;
    if (shared_count < kWarpgroupThreads || known.columns != columns) {
      fault(*threads[0], "issues an MMA on accumulators that an MMA of another shape is using");
    }
    known.last_event = event;
    return known;
  }
  Sums& fresh = sums.emplace_back();
  fresh.columns = columns;
  fresh.last_event = event;
  fresh.values.resize(static_cast<std::size_t>(kMmaRows * columns));
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    float* const d = requests[static_cast<std::size_t>(t)].d;
    fresh.d[static_cast<std::size_t>(t)] = d;
    for (int i = 0; i < columns / 2; ++i) {
      fresh.values[static_cast<std::size_t>(row_of(t, i) * columns + column_of(t, i))] = d[i];
      d[i] = std::bit_cast<float>(kInFlight);
    }
  }
  return fresh;
}

bool Warpgroup::has_incomplete() const { return !in_flight.empty() && !in_flight.back()->complete; }

void Warpgroup::complete_next() {
  for (const std::unique_ptr<Mma>& mma : in_flight) {
    if (mma->complete) continue;
    multiply(*mma, block->shared);
    mma->complete = true;
    return;
  }
}

void Warpgroup::wait(Thread& thread, u32 pending_groups) {
  const auto t = static_cast<std::size_t>(thread.index % kWarpgroupThreads);
  MmaThread& mine = thread.mma;
  const u32 group_end = mine.group_count > pending_groups ? mine.group_count - pending_groups : 0;
  for (const std::unique_ptr<Mma>& mma : in_flight) {
    if (mma->event <= mine.waited_event) continue;
    if (mma->group >= group_end) break;
    while (!mma->complete) complete_next();
    const u32* const a = mma->requests[t].a;
    if (a != nullptr && std::memcmp(a, mma->a_at_issue[t].data(), 4 * sizeof(u32)) != 0) {
      fault(thread, "wrote the A registers of an MMA before waiting for it");
    }
    mine.waited_event = mma->event;
    ++mma->waited_count;
  }
  thread.knowledge.see(actor, mine.waited_event);
  for (auto known = sums.begin(); known != sums.end();) {
    if (!known->delivered[t] && known->last_event <= mine.waited_event) deliver(*known, thread);
    known = known->delivered_count == kWarpgroupThreads ? sums.erase(known) : std::next(known);
  }
  while (!in_flight.empty() && in_flight.front()->waited_count == kWarpgroupThreads) {
    in_flight.pop_front();
  }
}

void Warpgroup::deliver(Sums& from, Thread& thread) {
  const int t = thread.index % kWarpgroupThreads;
  float* const d = from.d[static_cast<std::size_t>(t)];
  for (int i = 0; i < from.columns / 2; ++i) {
    if (std::bit_cast<u32>(d[i]) != kInFlight) {
      fault(thread, "wrote accumulator {} of an MMA before waiting for it", i);
    }
    d[i] = from.values[static_cast<std::size_t>(row_of(t, i) * from.columns + column_of(t, i))];
  }
  from.delivered[static_cast<std::size_t>(t)] = true;
  ++from.delivered_count;
}

void Warpgroup::check_ended(const Thread& thread) const {
  if (!in_flight.empty() && in_flight.back()->event > thread.mma.waited_event) {
    fault(thread, "ends without waiting for its last MMA");
  }
}

void MmaOperation::advance() {
  if (warpgroup_.has_incomplete()) warpgroup_.complete_next();
  done_ = true;
}

}  // namespace thresher::emulator
