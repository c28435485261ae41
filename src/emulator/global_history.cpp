// SPDX-License-Identifier: Apache-2.0
#include "emulator/global_history.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/block.hpp"
#include "emulator/device_memory.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "emulator/launch.hpp"

namespace thresher::emulator {
namespace {

bool are_strong(GlobalWord one, GlobalWord other) {
  return one == GlobalWord::kStrong && other == GlobalWord::kStrong;
}

// "global address 0x7f10 (workspace + 16)", and how it is accessed.
std::string place_of(const GlobalAccess& access) {
  const DeviceMemory& memory = *access.thread.block->grid->options().memory;
  return fmt::format("global address {} ({}){}", access.at, memory.place(access.at),
                     access.word == GlobalWord::kCopy ? " by a copy" : "");
}

}  // namespace

void GlobalHistory::synchronize() { *this = {}; }

GlobalHistory::PageShadow& GlobalHistory::page(std::uintptr_t number) {
  if (last_page_ == nullptr || last_page_number_ != number) {
    std::unique_ptr<PageShadow>& found = pages_[number];
    if (found == nullptr) found = std::make_unique<PageShadow>(kPageBytes);
    last_page_number_ = number;
    last_page_ = found.get();
  }
  return *last_page_;
}

template <typename Function>
void GlobalHistory::for_each_page(std::uintptr_t address, u32 bytes, Function function) {
  while (bytes > 0) {
    const auto first = static_cast<u32>(address % kPageBytes);
    const u32 count = std::min(bytes, kPageBytes - first);
    function(page(address / kPageBytes), first, count);
    address += count;
    bytes -= count;
  }
}

void GlobalHistory::note_read(std::uintptr_t address, u32 bytes, const GlobalAccess& access) {
  Reader reader;
  reader.event = access.event;
  reader.block = access.thread.block->number;
  reader.actor = access.actor;
  reader.word = access.word;
  for_each_page(address, bytes, [&](PageShadow& shadow, u32 first, u32 count) {
    shadow.read(first, count, reader,
                [&](u32, const Stamp& writer) { check_order(writer, access, "reads", "wrote"); });
  });
}

void GlobalHistory::note_write(std::uintptr_t address, u32 bytes, const GlobalAccess& access) {
  const Stamp stamp{.event = access.event,
                    .block = access.thread.block->number,
                    .actor = access.actor,
                    .word = access.word};
  for_each_page(address, bytes, [&](PageShadow& shadow, u32 first, u32 count) {
    shadow.write(
        first, count, stamp,
        [&](u32, const Reader& reader) { check_order(reader, access, "writes", "read"); },
        [&](u32, const Stamp& writer) { check_order(writer, access, "writes", "wrote"); });
  });
  if (access.word == GlobalWord::kStrong || publications_.empty()) return;
  publications_.erase(publications_.lower_bound(address),
                      publications_.lower_bound(address + bytes));
}

void GlobalHistory::check_order(const Stamp& before, const GlobalAccess& access, const char* verb,
                                const char* did) const {
  if (before.word == GlobalWord::kNone) return;
  const Thread& thread = access.thread;
  if (before.block >= launches_.back().first_block) {
    return check_same_launch(before, access, verb, did);
  }
  if (before.block < thread.knowledge.complete_below() ||
      thread.knowledge.views.knows(before.block, before.actor, before.event)) {
    return;
  }
  const bool beside = fork_block_ != 0 && before.block >= fork_block_;
  fault(thread, "{} {}, which {} {}: {}", verb, place_of(access), name_of(before), did,
        beside ? "that one runs beside it, on another stream"
               : "it has not said wait_for_previous_kernel, and no start_next_kernel came after "
                 "that");
}

void GlobalHistory::check_same_launch(const Stamp& before, const GlobalAccess& access,
                                      const char* verb, const char* did) const {
  const Thread& thread = access.thread;
  if (access.word == GlobalWord::kConstant) {
    fault(thread,
          "{} {} with load_global, which is for what no thread of the launch writes, but {} {} it",
          verb, place_of(access), name_of(before), did);
  }
  if (are_strong(before.word, access.word)) return;
  const bool own = before.block == thread.block->number;
  if (own ? thread.knowledge.seen(before.actor) < before.event
          : !thread.knowledge.views.knows(before.block, before.actor, before.event)) {
    fault(thread, "{} {}, which {} {}: {}", verb, place_of(access), name_of(before), did,
          missing_order(before, thread));
  }
  if (access.word == GlobalWord::kCopy && before.word == GlobalWord::kOrdinary) {
    check_proxies(before, access);
  }
}

// PTX asks for one fence of the proxy on the way from the store to the copy, and does not say where
// a device needs it; the contract asks for both ends.
void GlobalHistory::check_proxies(const Stamp& before, const GlobalAccess& access) const {
  const Thread& thread = access.thread;
  const bool own = before.block == thread.block->number;
  const BlockView* const view = thread.knowledge.views.find(before.block);
  const u32 fenced = own               ? thread.knowledge.fenced_global(before.actor)
                     : view == nullptr ? 0
                                       : view->fenced.at(before.actor);
  if (fenced < before.event) {
    fault(thread, "reads {}, which {} wrote without fence_async_global before it told of it",
          place_of(access), name_of(before));
  }
  const Knowledge& copies = thread.known_to_copies;
  if (own ? copies.seen(before.actor) < before.event
          : !copies.views.knows(before.block, before.actor, before.event)) {
    fault(thread,
          "reads {}, which {} wrote, and has not said fence_async_global since it knows of it",
          place_of(access), name_of(before));
  }
}

std::string GlobalHistory::name_of(const Stamp& stamp) const {
  const auto launch = std::find_if(launches_.rbegin(), launches_.rend(), [&](const Launch& one) {
    return one.first_block <= stamp.block;
  });
  const std::ptrdiff_t back = launch - launches_.rbegin();
  const bool is_thread = stamp.actor < launch->threads_per_cluster;
  const int rank = is_thread ? stamp.actor / launch->threads_per_block : 0;
  const std::string who = is_thread
                              ? fmt::format("thread {}", stamp.actor % launch->threads_per_block)
                              : std::string("a copy");
  return fmt::format("{} of block {}{}", who,
                     stamp.block - launch->first_block + static_cast<u32>(rank),
                     back == 0   ? ""
                     : back == 1 ? " of the launch before"
                                 : fmt::format(" of {} launches before", back));
}

std::string GlobalHistory::missing_order(const Stamp& before, const Thread& thread) const {
  const Knowledge& knowledge = thread.knowledge;
  if (before.actor >= launches_.back().threads_per_cluster) {
    return "nothing tells that the copy is complete";
  }
  if (before.block == thread.block->number) return "there is no barrier in between";
  if (knowledge.heard_released.knows(before.block, before.actor, before.event)) {
    return "it was published, but nobody here said fence_device after seeing that";
  }
  if (knowledge.heard_written.knows(before.block, before.actor, before.event)) {
    return "who published it did not say fence_device before";
  }
  return "nothing was published after that";
}

GlobalHistory::Start GlobalHistory::begin_launch(const LaunchOptions& options) {
  const int block_count = options.block_count;
  const LaunchOrder& order = options.order;
  if (order.lane < 0) fork_block_ = 0;
  if (order.lane >= 0 && fork_block_ == 0) {
    fork_block_ = next_block_;
    lanes_.clear();
  }
  Start start{.first_block = next_block_, .complete_below = next_block_};
  if (order.lane >= 0) {
    start.complete_below = fork_block_;
    Views& lane = lanes_[order.lane];
    start.views = lane;
    for (int i = 0; i < block_count; ++i) {
      lane.add(next_block_ + static_cast<u32>(i), {.complete = true});
    }
  } else if (order.dependent && !launches_.empty()) {
    start.complete_below = next_.complete_below;
    start.views = next_.views;
  }
  next_ = {.complete_below = start.complete_below};
  dependent_ = order.dependent && !launches_.empty();
  waited_ = false;
  has_started_next_.assign(static_cast<std::size_t>(block_count), false);
  publications_.clear();
  launches_.push_back({.first_block = next_block_,
                       .threads_per_block = options.thread_count,
                       .threads_per_cluster = options.thread_count * options.cluster_blocks});
  next_block_ += static_cast<u32>(block_count);
  return start;
}

void GlobalHistory::end_launch() {
  if (!dependent_ || waited_ || has_started_next_.empty()) return;
  throw Error(
      "no thread of a dependent launch says wait_for_previous_kernel: those that wait for it "
      "would not know what came before it to be complete");
}

void GlobalHistory::wait_for_previous(Thread& thread) {
  waited_ = true;
  // A launch on a stream of its own follows what is before the fork, which is complete.
  if (fork_block_ == 0) thread.knowledge.see_complete_below(launches_.back().first_block);
}

void GlobalHistory::start_next(const Block& block, const Knowledge& known) {
  const auto index = static_cast<std::size_t>(block.index);
  if (has_started_next_[index]) return;
  has_started_next_[index] = true;
  BlockView own = known.view();
  own.seen.meet(block.fenced_device);
  next_.views.join(known.views);
  next_.views.add(block.number, std::move(own));
  next_.complete_below = std::max(next_.complete_below, known.complete_below());
}

}  // namespace thresher::emulator
