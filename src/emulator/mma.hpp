// SPDX-License-Identifier: Apache-2.0
// The MMAs of a warpgroup: those in flight, and the sums they work on.
//
// While an MMA is in flight nobody may look at its registers. The emulator makes that visible in
// every run: from issue to the thread's own mma_wait the accumulators hold NaN, the sums live here,
// and A is compared at the wait with what it was at issue. The sums themselves are formed at a
// random moment in between, in the order of issue, from the A registers and the shared memory of
// that moment.
#pragma once

#include <array>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "emulator/descriptor.hpp"
#include "emulator/knowledge.hpp"
#include "emulator/meeting.hpp"
#include "emulator/operation.hpp"
#include "emulator/shared_memory.hpp"
#include "gpu/hw/sm90/emulated_mma.hpp"

namespace thresher::emulator {

struct Thread;

inline constexpr int kMmaRows = 64;
inline constexpr int kMmaDepth = 16;
inline constexpr int kWarpgroupThreads = gpu::hw::kWarpgroupThreads;

// What one thread brings to an MMA.
struct MmaRequest {
  gpu::hw::MmaShape shape{};
  float* d = nullptr;
  const u32* a = nullptr;  // null: A comes from shared memory
  u64 a_descriptor = 0;
  u64 b_descriptor = 0;
  bool add = false;
};

// A thread's side: its fences and groups, and the A registers it used last.
struct MmaThread {
  struct Fragment {
    const u32* a = nullptr;
    std::array<u32, 4> values{};
    u32 fence_count = 0;  // at its last use
  };
  u32 fence_count = 0;
  u32 group_count = 0;   // committed
  u32 waited_event = 0;  // all MMAs up to this one are complete to this thread
  std::vector<Fragment> fragments;
};

// Accumulators in use by MMAs in flight.
struct Sums {
  std::array<float*, kWarpgroupThreads> d{};
  int columns = 0;
  u32 last_event = 0;         // of the last MMA that adds to them
  std::vector<float> values;  // 64 x columns
  std::array<bool, kWarpgroupThreads> delivered{};
  int delivered_count = 0;
};

struct Mma {
  std::array<MmaRequest, kWarpgroupThreads> requests;
  std::array<std::array<u32, 4>, kWarpgroupThreads> a_at_issue;
  MatrixView a;
  MatrixView b;
  Sums* sums = nullptr;
  u32 event = 0;  // counted from 1
  u32 group = 0;  // how many groups had been committed before
  bool complete = false;
  int waited_count = 0;  // threads that have waited for it
};

struct Warpgroup {
  Warpgroup(Block& owner, int warpgroup_index, int thread_count);

  void issue();  // `requests` is complete
  void complete_next();
  bool has_incomplete() const;
  void wait(Thread& thread, u32 pending_groups);
  void check_ended(const Thread& thread) const;

  Block* block;
  int index;
  Meeting meeting;
  Actor actor;
  std::array<Thread*, kWarpgroupThreads> threads{};
  std::array<MmaRequest, kWarpgroupThreads> requests;
  u32 event_count = 0;
  std::deque<std::unique_ptr<Mma>> in_flight;  // in order of issue, until all threads waited
  std::list<Sums> sums;

 private:
  Sums& sums_for_requests(u32 event);
  void deliver(Sums& from, Thread& thread);
};

// One token per MMA for the grid's random choice; the warpgroup completes them in order.
class MmaOperation final : public Operation {
 public:
  MmaOperation(Block& block, Warpgroup& warpgroup) : Operation(block), warpgroup_(warpgroup) {}
  void advance() override;
  bool done() const override { return done_; }

 private:
  Warpgroup& warpgroup_;
  bool done_ = false;
};

// Forms the sums of one MMA, in the order of k.
void multiply(const Mma& mma, SharedMemory& shared);

}  // namespace thresher::emulator
