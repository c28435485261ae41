// SPDX-License-Identifier: Apache-2.0
#include "emulator/convergence.hpp"

#include <algorithm>
#include <iterator>

#include "emulator/fault.hpp"
#include "emulator/grid.hpp"

namespace thresher::emulator {
namespace {

// These wait for all threads of the warp, wherever they are; the others are .aligned.
constexpr std::string_view kMeetingWords[] = {"sync_warp", "shuffle", "shuffle_xor", "ballot",
                                              "broadcast", "uniform", "elect_one"};

bool brings_back(std::string_view word) {
  return std::find(std::begin(kMeetingWords), std::end(kMeetingWords), word) !=
         std::end(kMeetingWords);
}

void check_alike(const Thread& thread, u32 alone_count, const Thread& other, u32 others_count,
                 std::string_view word) {
  if (alone_count == others_count) return;
  const Thread& apart = alone_count > others_count ? thread : other;
  fault(thread,
        "says {}, which its warp says at once, but thread {} has waited or issued MMAs by itself "
        "since the warp was last together: nothing brings it back (sync_warp)",
        word, apart.index);
}

}  // namespace

void AlignedWords::say(Thread& thread, std::string_view word) {
  WarpThread& own = thread.together;
  const u32 number = ++own.aligned_count;
  Round& round = rounds_[number];
  if (round.first == nullptr) {
    round.first = &thread;
    round.alone_count = own.alone_count;
  }
  check_alike(thread, own.alone_count, *round.first, round.alone_count, word);
  own.alone_count = 0;
  if (++round.said_count == gpu::hw::kWarpThreads) rounds_.erase(number);
}

void note_alone(Thread& thread) { ++thread.together.alone_count; }

void meet_together(const std::vector<Thread*>& arrived, std::string_view word) {
  const Thread* first_of_warp[1024 / gpu::hw::kWarpThreads] = {};
  for (const Thread* const thread : arrived) {
    const Thread*& first = first_of_warp[thread->index / gpu::hw::kWarpThreads];
    if (first == nullptr) first = thread;
    if (brings_back(word)) continue;
    check_alike(*thread, thread->together.alone_count, *first, first->together.alone_count, word);
  }
  for (Thread* const thread : arrived) thread->together.alone_count = 0;
}

}  // namespace thresher::emulator
