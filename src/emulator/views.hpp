// SPDX-License-Identifier: Apache-2.0
// What is known of the blocks of a grid, and of those of the launch before: for each its clock.
// Sets of views are handed from thread to thread at every barrier, and change only where blocks
// publish something to each other, so they are shared and never written again.
#pragma once

#include <map>
#include <memory>

#include "emulator/counters.hpp"

namespace thresher::emulator {

struct BlockView {
  Counters seen;
  Counters fenced;        // before the actor's fence_async_global
  bool complete = false;  // the block has ended, and all it did is there to be seen

  bool knows(Actor actor, u32 event) const { return complete || seen.at(actor) >= event; }
  void join(const BlockView& other);
  bool holds(const BlockView& other) const;
};

// By number of block; blocks of all launches are counted.
class Views {
 public:
  const BlockView* find(u32 block) const {
    if (views_ == nullptr) return nullptr;
    const auto found = views_->find(block);
    return found == views_->end() ? nullptr : &*found->second;
  }
  bool knows(u32 block, Actor actor, u32 event) const {
    const BlockView* const view = find(block);
    return view != nullptr && view->knows(actor, event);
  }
  bool empty() const { return views_ == nullptr; }

  void add(u32 block, BlockView view);
  void join(const Views& other) {
    if (other.views_ != views_ && other.views_ != nullptr) join_other(other);
  }

 private:
  using Map = std::map<u32, std::shared_ptr<const BlockView>>;

  void join_other(const Views& other);

  std::shared_ptr<const Map> views_;
};

}  // namespace thresher::emulator
