// SPDX-License-Identifier: Apache-2.0
// The two kinds of barriers of a block as state: mbarriers in shared memory, and the 16 named ones.
#pragma once

#include <map>
#include <vector>

#include "emulator/knowledge.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::emulator {

struct Thread;

// An mbarrier. Its phases are events of an actor: event p + 1 is the completion of phase p.
struct Barrier {
  gpu::hw::SharedAddress address = 0;
  Actor actor = 0;
  u32 arrivals_per_phase = 0;

  u32 phase = 0;  // the one under way
  u32 arrivals_missing = 0;
  long long bytes_missing = 0;
  Knowledge gathered;  // of those that arrived in this phase
  Knowledge released;  // of the last complete phase
  // The same of what other blocks of the cluster arrived with, which only barrier_wait_cluster
  // learns.
  Knowledge gathered_far;
  Knowledge released_far;
  std::vector<Thread*> waiting;
  u32 last_copy_event = 0;  // the completion of the last phase that a copy belongs to

  // Initialised by this thread in this event; copies may use it once that thread has fenced.
  Actor initialised_by = 0;
  u32 initialised_in = 0;
  bool fenced = false;

  // Copies that another block issued: their completion is an actor of its own, which is known as
  // far arrivals are.
  Actor far_copy_actor = 0;  // 0: there were none
  u32 last_far_copy_event = 0;

  std::map<Actor, u32> remote_arrivals;  // the last event of each thread of another block

  bool phase_complete() const { return arrivals_missing == 0 && bytes_missing == 0; }
  // Whether the phase of this parity counts as complete.
  bool passes(u32 parity) const { return (phase & 1) != parity; }
};

// A named barrier; 0 is the one of the whole block.
struct NamedBarrier {
  int thread_count = 0;  // of the round under way; 0: none is
  int arrived_count = 0;
  Knowledge gathered;
  std::vector<Thread*> waiting;
};

}  // namespace thresher::emulator
