// SPDX-License-Identifier: Apache-2.0
// A vector clock: for every actor the number of an event, 0 for those it does not hold.
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

class Counters {
 public:
  u32 at(Actor actor) const { return actor < events_.size() ? events_[actor] : 0; }

  void raise(Actor actor, u32 event) {
    if (actor >= events_.size()) events_.resize(actor + std::size_t{1});
    events_[actor] = std::max(events_[actor], event);
  }

  void forget(Actor actor) {
    if (actor < events_.size()) events_[actor] = 0;
  }

  void join(const Counters& other) {
    if (events_.size() < other.events_.size()) events_.resize(other.events_.size());
    for (std::size_t i = 0; i < other.events_.size(); ++i) {
      events_[i] = std::max(events_[i], other.events_[i]);
    }
  }

  // Only what both hold.
  void meet(const Counters& other) {
    events_.resize(std::min(events_.size(), other.events_.size()));
    for (std::size_t i = 0; i < events_.size(); ++i) {
      events_[i] = std::min(events_[i], other.events_[i]);
    }
  }

  // Whether nothing in `other` is beyond this.
  bool holds(const Counters& other) const {
    for (std::size_t i = 0; i < other.events_.size(); ++i) {
      if (other.events_[i] > at(static_cast<Actor>(i))) return false;
    }
    return true;
  }

 private:
  std::vector<u32> events_;
};

}  // namespace thresher::emulator
