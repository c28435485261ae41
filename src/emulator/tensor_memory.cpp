// SPDX-License-Identifier: Apache-2.0
#include "emulator/tensor_memory.hpp"

#include <algorithm>

#include "emulator/fault.hpp"

namespace thresher::emulator {
namespace {

constexpr u32 kAllColumns = gpu::hw::kTensorColumns;
constexpr u32 kAllocationGranule = 32;  // of allocations

bool knows(const Thread& thread, Actor actor, u32 event) {
  return thread.tensor.fenced.seen(actor) >= event;
}

const char* doing(TensorWord word, bool writes) {
  if (word == TensorWord::kLoad) return "loads of a warp may still be reading";
  if (word == TensorWord::kStore) return "a store of a warp may still be writing";
  if (word == TensorWord::kCopy) return "a copy of scales may still be writing";
  return writes ? "an MMA may still be writing" : "an MMA may still be reading";
}

// Why the thread does not know of an access.
std::string missing_for(const Thread& thread, Actor actor, u32 event, TensorWord word) {
  if (thread.knowledge.seen(actor) >= event) {
    return "the thread has learnt of it, and not said tensor_fence_after since";
  }
  if (word == TensorWord::kLoad) {
    return "nothing tells the thread of their tensor_wait_loads and tensor_fence_before";
  }
  if (word == TensorWord::kStore) {
    return "nothing tells the thread of its tensor_wait_stores and tensor_fence_before";
  }
  return "the thread has not seen its commit";
}

// Whether the pipeline orders what the same thread did before. An MMA's reads of scales are not
// before a copy that overwrites them: PTX names no such pair.
template <typename Stamp>
bool in_pipeline(const Stamp& before, const TensorAccess& access) {
  if (before.actor != access.actor || access.word != TensorWord::kMma) return false;
  if (before.word == TensorWord::kCopy) return access.columns == 0;  // it reads the scales
  return before.word == TensorWord::kMma && before.columns != 0 &&
         before.first_column == access.first_column && before.columns == access.columns &&
         before.rows == access.rows;
}

}  // namespace

bool TensorMemory::is_free(u32 first, u32 columns) const {
  return std::none_of(allocations_.begin(), allocations_.end(), [=](const auto& one) {
    return one.first < first + columns && first < one.first + one.second;
  });
}

u32 TensorMemory::allocate(u32 columns, u64 random, TensorMemory* other) {
  std::vector<u32> places;
  for (u32 first = 0; first + columns <= kAllColumns; first += kAllocationGranule) {
    if (!is_free(first, columns)) continue;
    if (other == nullptr || other->is_free(first, columns)) places.push_back(first);
  }
  if (places.empty()) return kNowhere;
  const u32 first = places[random % places.size()];
  allocations_.emplace(first, columns);
  if (other != nullptr) other->allocations_.emplace(first, columns);
  return first;
}

bool TensorMemory::release(u32 first, u32 columns) {
  const auto found = allocations_.find(first);
  if (found == allocations_.end() || found->second != columns) return false;
  allocations_.erase(found);
  return true;
}

u32 TensorMemory::allocated_columns() const {
  u32 columns = 0;
  for (const auto& [first, count] : allocations_) columns += count;
  return columns;
}

std::string TensorMemory::misplaced(TensorAddress first, u32 columns, u32 alignment) const {
  const u32 column = first & 0xffff;
  if (column % alignment != 0) return fmt::format("no multiple of {} columns", alignment);
  const auto next = allocations_.upper_bound(column);
  if (next == allocations_.begin()) return "which is not allocated";
  const auto& [begin, count] = *std::prev(next);
  if (column >= begin + count) return "which is not allocated";
  if (column + columns > begin + count) {
    return fmt::format("of which {} are allocated", begin + count - column);
  }
  return "";
}

TensorMemory::Stamp TensorMemory::stamp_of(const TensorAccess& access) {
  return {access.word,         access.actor,   access.event,
          access.first_column, access.columns, access.rows};
}

template <typename Function>
void TensorMemory::for_each_cell(const Area& area, Function function) {
  for (u32 column = area.first; column < area.first + area.columns; ++column) {
    for (u32 quarter = 0; quarter < kTensorQuarters; ++quarter) {
      if (area.quarter == kTensorQuarters || area.quarter == quarter) {
        function(column, cell(quarter, column));
      }
    }
  }
}

void TensorMemory::note_read(const Area& area, const TensorAccess& access) {
  const Thread& thread = *access.thread;
  for_each_cell(area, [&](u32 column, Cell& cell) {
    const Stamp& writer = cell.writer;
    if (writer.word == TensorWord::kNothing) {
      fault(thread, "reads {} in column {} of tensor memory, which nobody has written", area.what,
            column);
    }
    if (!in_pipeline(writer, access) && !knows(thread, writer.actor, writer.event)) {
      fault(thread, "reads {} in column {} of tensor memory, which {}: {}", area.what, column,
            doing(writer.word, /*writes=*/true),
            missing_for(thread, writer.actor, writer.event, writer.word));
    }
    const auto own = std::find_if(cell.readers.begin(), cell.readers.end(),
                                  [&](const Stamp& one) { return one.actor == access.actor; });
    const Stamp stamp = stamp_of(access);
    if (own != cell.readers.end()) {
      *own = stamp;
    } else {
      cell.readers.push_back(stamp);
    }
  });
}

void TensorMemory::check_write(const Area& area, const TensorAccess& access) {
  const Thread& thread = *access.thread;
  const auto check = [&](u32 column, const Stamp& before, bool writes) {
    if (before.word == TensorWord::kNothing || in_pipeline(before, access)) return;
    if (knows(thread, before.actor, before.event)) return;
    fault(thread, "writes {} to column {} of tensor memory, where {}: {}", area.what, column,
          doing(before.word, writes), missing_for(thread, before.actor, before.event, before.word));
  };
  for_each_cell(area, [&](u32 column, Cell& cell) {
    check(column, cell.writer, /*writes=*/true);
    for (const Stamp& reader : cell.readers) check(column, reader, /*writes=*/false);
  });
}

void TensorMemory::note_write(const Area& area, const TensorAccess& access) {
  check_write(area, access);
  for_each_cell(area, [&](u32, Cell& cell) {
    cell.readers.clear();
    cell.writer = stamp_of(access);
  });
}

void TensorMemory::check_idle(u32 first, u32 columns, const Thread& thread) const {
  for (u32 i = first * kTensorQuarters; i < (first + columns) * kTensorQuarters; ++i) {
    const auto check = [&](const Stamp& stamp, bool writes) {
      if (stamp.word == TensorWord::kNothing || knows(thread, stamp.actor, stamp.event)) return;
      fault(thread, "frees column {} of tensor memory, where {}: {}", i / kTensorQuarters,
            doing(stamp.word, writes), missing_for(thread, stamp.actor, stamp.event, stamp.word));
    };
    check(cells_[i].writer, /*writes=*/true);
    for (const Stamp& reader : cells_[i].readers) check(reader, /*writes=*/false);
  }
}

void TensorMemory::forget(u32 first, u32 columns) {
  for (u32 i = first * kTensorQuarters; i < (first + columns) * kTensorQuarters; ++i) {
    cells_[i] = {};
  }
}

}  // namespace thresher::emulator
