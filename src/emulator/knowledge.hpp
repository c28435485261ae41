// SPDX-License-Identifier: Apache-2.0
// What a thread knows to have happened: vector clocks.
//
// Everything that acts on a block's memory is an actor with a counter: each thread, the MMAs of
// each warpgroup, the phases of each mbarrier, the copies each thread sends to global memory. A
// barrier hands on what those who arrived knew. An access is in order exactly if the one who makes
// it knows of the accesses it conflicts with; so a missing barrier is found in every run, not only
// in those where it does harm.
//
// Of other blocks a thread knows what was published through global memory (views.hpp), and of
// earlier launches that they are complete.
#pragma once

#include "emulator/counters.hpp"
#include "emulator/views.hpp"

namespace thresher::emulator {

class Knowledge {
 public:
  // The last event of `actor` that is known; 0: none.
  u32 seen(Actor actor) const { return seen_.at(actor); }
  void see(Actor actor, u32 event) { seen_.raise(actor, event); }

  // The last event of thread `actor` known to lie before one of its fence_async.
  u32 fenced(Actor actor) const { return fenced_.at(actor); }
  void fence(Actor actor, u32 event) { fenced_.raise(actor, event); }

  // The same for fence_async_cluster, which is also for what it stored in other blocks' memory.
  u32 fenced_cluster(Actor actor) const { return fenced_cluster_.at(actor); }
  void fence_cluster(Actor actor, u32 event) { fenced_cluster_.raise(actor, event); }

  // The same for fence_async_global.
  u32 fenced_global(Actor actor) const { return fenced_global_.at(actor); }
  void fence_global(Actor actor, u32 event) { fenced_global_.raise(actor, event); }

  // Blocks of all launches are numbered: those below this number are complete, and what they wrote
  // is there to be read.
  u32 complete_below() const { return complete_below_; }
  void see_complete_below(u32 block) { complete_below_ = std::max(complete_below_, block); }

  // Other blocks: what is in order, and what the thread has only heard of, because a fence is
  // missing on its side (released) or on the other's (written). The latter two are for messages.
  Views views;
  Views heard_released;
  Views heard_written;

  // All but what `actor` itself did.
  Knowledge without(Actor actor) const {
    Knowledge rest = *this;
    rest.seen_.forget(actor);
    rest.fenced_.forget(actor);
    rest.fenced_cluster_.forget(actor);
    return rest;
  }

  void join(const Knowledge& other) {
    seen_.join(other.seen_);
    fenced_.join(other.fenced_);
    fenced_cluster_.join(other.fenced_cluster_);
    fenced_global_.join(other.fenced_global_);
    see_complete_below(other.complete_below_);
    views.join(other.views);
    heard_released.join(other.heard_released);
    heard_written.join(other.heard_written);
  }

  // Of block `own`, as seen by others.
  BlockView view() const { return {.seen = seen_, .fenced = fenced_global_}; }
  // Takes over what somebody published, which may be news of the own block.
  void learn(const Views& published, u32 own) {
    views.join(published);
    if (const BlockView* const mine = published.find(own)) {
      seen_.join(mine->seen);
      fenced_global_.join(mine->fenced);
    }
  }

 private:
  Counters seen_;
  Counters fenced_;
  Counters fenced_cluster_;
  Counters fenced_global_;
  u32 complete_below_ = 0;
};

}  // namespace thresher::emulator
