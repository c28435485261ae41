// SPDX-License-Identifier: Apache-2.0
#include "emulator/deadlock.hpp"

#include <fmt/format.h>

#include <map>
#include <vector>

namespace thresher::emulator {
namespace {

std::string barrier_state(const Barrier& barrier) {
  std::string missing;
  if (barrier.arrivals_missing > 0) {
    missing =
        fmt::format("{} of {} arrivals", barrier.arrivals_missing, barrier.arrivals_per_phase);
  }
  if (barrier.bytes_missing != 0) {
    missing += fmt::format("{}{} bytes", missing.empty() ? "" : " and ", barrier.bytes_missing);
  }
  return fmt::format("phase {} lacks {}", barrier.phase, missing);
}

std::string missing_threads(const Thread& thread, const Meeting& meeting) {
  return fmt::format("{} of the {} threads beside thread {} to say {}",
                     meeting.size() - static_cast<int>(meeting.arrived().size()), meeting.size(),
                     thread.index, meeting.word());
}

std::string waits_for(const Thread& thread) {
  const Wait& wait = thread.wait;
  switch (wait.kind) {
    case Wait::Kind::kBarrier:
      return fmt::format("parity {} of the barrier at {:#x} ({})", wait.parity,
                         wait.barrier->address, barrier_state(*wait.barrier));
    case Wait::Kind::kNamed: {
      const NamedBarrier& barrier = thread.block->named[static_cast<std::size_t>(wait.named_id)];
      return fmt::format(
          "{} ({} of {} threads arrived)",
          wait.named_id == 0 ? "sync_block" : fmt::format("named barrier {}", wait.named_id),
          barrier.arrived_count, barrier.thread_count);
    }
    case Wait::Kind::kMeeting:
      return missing_threads(*wait.meeting->arrived()[0], *wait.meeting);
    case Wait::Kind::kCluster:
      return fmt::format("cluster_wait ({} of {} threads have said cluster_arrive)",
                         thread.block->cluster->barrier.arrived_count,
                         thread.block->cluster->thread_count);
    case Wait::Kind::kPair:
      return fmt::format("the other block of its pair to say {}", wait.word);
    case Wait::Kind::kRegisters:
      return fmt::format("{} registers more ({} free in the block)", wait.registers,
                         thread.block->registers_free);
    case Wait::Kind::kNothing:
      break;
  }
  return "nothing";
}

// "0-127, 130"
std::string ranges(const std::vector<int>& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", indices[i]);
    if (end - i > 1) text += fmt::format("-{}", indices[end - 1]);
    i = end;
  }
  return text;
}

std::string block_report(const Block& block) {
  std::map<std::string, std::vector<int>> waiting;
  for (const Thread& thread : block.threads) {
    if (!thread.ended) waiting[waits_for(thread)].push_back(thread.index);
  }
  std::string text = fmt::format("block {}:", block.index);
  for (const auto& [what, threads] : waiting) {
    const bool one = threads.size() == 1;
    text += fmt::format("{} {} {} {} for {}", text.back() == ':' ? "" : ",",
                        one ? "thread" : "threads", ranges(threads), one ? "waits" : "wait", what);
  }
  return text;
}

}  // namespace

std::string deadlock_report(const std::list<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks) {
    if (!block.has_ended()) text += (text.empty() ? "" : "; ") + block_report(block);
  }
  return "deadlock in " + text;
}

}  // namespace thresher::emulator
