// SPDX-License-Identifier: Apache-2.0
#include "emulator/views.hpp"

#include <utility>

namespace thresher::emulator {
namespace {

using ViewPointer = std::shared_ptr<const BlockView>;

// Both together; one of the two where it holds the other.
ViewPointer joined(const ViewPointer& one, const ViewPointer& other) {
  if (one == nullptr || one == other) return other;
  if (one->holds(*other)) return one;
  if (other->holds(*one)) return other;
  auto both = std::make_shared<BlockView>(*one);
  both->join(*other);
  return both;
}

}  // namespace

void BlockView::join(const BlockView& other) {
  seen.join(other.seen);
  fenced.join(other.fenced);
  complete = complete || other.complete;
}

bool BlockView::holds(const BlockView& other) const {
  return (complete || !other.complete) && seen.holds(other.seen) && fenced.holds(other.fenced);
}

void Views::add(u32 block, BlockView view) {
  Views one;
  one.views_ =
      std::make_shared<const Map>(Map{{block, std::make_shared<const BlockView>(std::move(view))}});
  join(one);
}

void Views::join_other(const Views& other) {
  if (views_ == nullptr) {
    views_ = other.views_;
    return;
  }
  Map both = *views_;
  bool is_this = true;
  bool is_other = both.size() <= other.views_->size();
  for (const auto& [block, view] : *other.views_) {
    ViewPointer& mine = both[block];
    const ViewPointer before = mine;
    mine = joined(before, view);
    is_this = is_this && mine == before;
    is_other = is_other && mine == view;
  }
  // Threads that know the same share it, so that the next barrier has nothing to do.
  is_other = is_other && both.size() == other.views_->size();
  if (is_this) return;
  views_ = is_other ? other.views_ : std::make_shared<const Map>(std::move(both));
}

}  // namespace thresher::emulator
