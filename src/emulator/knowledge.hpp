// SPDX-License-Identifier: Apache-2.0
// What a thread knows to have happened: a vector clock.
//
// Everything that acts on a block's shared memory is an actor with a counter: each thread, the MMAs
// of each warpgroup, the phases of each mbarrier, the copies each thread sends to global memory. A
// barrier hands on what those who arrived knew. An access is in order exactly if the one who makes
// it knows of the accesses it conflicts with; so a missing barrier is found in every run, not only
// in those where it does harm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gpu/hw/types.hpp"

namespace thresher::emulator {

using gpu::u16;
using gpu::u32;
using gpu::u64;
using gpu::u8;

using Actor = u16;

class Knowledge {
 public:
  // The last event of `actor` that is known; 0: none.
  u32 seen(Actor actor) const { return at(seen_, actor); }
  void see(Actor actor, u32 event) { raise(seen_, actor, event); }

  // The last event of thread `actor` known to lie before one of its fence_async.
  u32 fenced(Actor actor) const { return at(fenced_, actor); }
  void fence(Actor actor, u32 event) { raise(fenced_, actor, event); }

  void join(const Knowledge& other) {
    join(seen_, other.seen_);
    join(fenced_, other.fenced_);
  }

 private:
  using Counters = std::vector<u32>;

  static u32 at(const Counters& counters, Actor actor) {
    return actor < counters.size() ? counters[actor] : 0;
  }
  static void raise(Counters& counters, Actor actor, u32 event) {
    if (actor >= counters.size()) counters.resize(actor + std::size_t{1});
    counters[actor] = std::max(counters[actor], event);
  }
  static void join(Counters& counters, const Counters& others) {
    if (counters.size() < others.size()) counters.resize(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) counters[i] = std::max(counters[i], others[i]);
  }

  Counters seen_;
  Counters fenced_;
};

}  // namespace thresher::emulator
