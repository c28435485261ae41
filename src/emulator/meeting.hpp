// SPDX-License-Identifier: Apache-2.0
// Where the threads of a warp or warpgroup meet to say a word together.
#pragma once

#include <string_view>
#include <vector>

namespace thresher::emulator {

struct Thread;

class Meeting {
 public:
  explicit Meeting(int size) : size_(size) {}

  // Waits for the others. True in the thread that came last: it acts for all of them and then calls
  // release(). Throws where the threads say different words or one of them has ended.
  bool join(Thread& thread, std::string_view word);
  void release();
  void leave(const Thread& thread);  // the thread ends

  int size() const { return size_; }
  std::string_view word() const { return word_; }
  const std::vector<Thread*>& arrived() const { return arrived_; }

 private:
  int size_;
  int ended_index_ = -1;
  std::string_view word_;
  std::vector<Thread*> arrived_;
};

}  // namespace thresher::emulator
