// SPDX-License-Identifier: Apache-2.0
// Whether the threads of a warp are together. Words that PTX calls .aligned want all of them at the
// same instruction; a thread that has waited for something by itself may be anywhere until a word
// that waits for its warp (sync_warp, shuffle, ...) brings it back. Branches in which nobody waits
// are left to the compiler.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "gpu/hw/types.hpp"

namespace thresher::emulator {

struct Thread;
using gpu::u32;

// A thread's side.
struct WarpThread {
  u32 alone_count = 0;    // waits and MMAs of its own since its warp was last together
  u32 aligned_count = 0;  // aligned words that it comes to one by one
};

// A warp's: where some of its threads have said an aligned word, and others have not yet.
class AlignedWords {
 public:
  // Each thread by itself. What the others have done until there must be as much.
  void say(Thread& thread, std::string_view word);

 private:
  struct Round {
    const Thread* first = nullptr;
    u32 alone_count = 0;
    int said_count = 0;
  };
  std::map<u32, Round> rounds_;  // by the number of the word
};

// The thread waits, or issues what others of its warp do not.
void note_alone(Thread& thread);
// Whole warps say a word together, which brings them together.
void meet_together(const std::vector<Thread*>& arrived, std::string_view word);

}  // namespace thresher::emulator
