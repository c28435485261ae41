// SPDX-License-Identifier: Apache-2.0
#include "emulator/meeting.hpp"

#include "emulator/fault.hpp"
#include "emulator/grid.hpp"

namespace thresher::emulator {

bool Meeting::join(Thread& thread, std::string_view word) {
  if (ended_index_ >= 0) {
    fault(thread, "says {}, which its {} threads say together, but thread {} has ended", word,
          size_, ended_index_);
  }
  if (arrived_.empty()) word_ = word;
  if (word_ != word) {
    fault(thread, "says {} while thread {} beside it says {}", word, arrived_[0]->index, word_);
  }
  arrived_.push_back(&thread);
  if (static_cast<int>(arrived_.size()) == size_) {
    meet_together(arrived_, word);
    return true;
  }
  thread.block->grid->wait(thread, {.kind = Wait::Kind::kMeeting, .meeting = this});
  return false;
}

void Meeting::release() {
  Thread* const last = arrived_.back();
  for (Thread* const thread : arrived_) {
    if (thread != last) thread->block->grid->wake(*thread);
  }
  arrived_.clear();
}

void Meeting::leave(const Thread& thread) {
  if (!arrived_.empty()) {
    fault(thread, "ends while thread {} beside it waits for it to say {}", arrived_[0]->index,
          word_);
  }
  ended_index_ = thread.index;
}

}  // namespace thresher::emulator
