// SPDX-License-Identifier: Apache-2.0
// A block's tensor memory with its shadow: what is allocated, and for every column of every warp's
// 32 lanes who wrote it last and who has read it since.
//
// Words of tensor memory are ordered in two ways only: a thread's own along the pipeline that PTX
// names (a copy before an MMA, an MMA before another on the same sums and of the same shape), and
// across threads by what a thread knew at its last tensor_fence_after.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "emulator/knowledge.hpp"
#include "gpu/hw/sm100/descriptors.hpp"

namespace thresher::emulator {

struct Thread;
using gpu::hw::TensorAddress;

inline constexpr u32 kTensorQuarters = 4;  // of the lanes: one for each warp of four

// What touches tensor memory.
enum class TensorWord : u8 { kNothing, kCopy, kMma, kLoad, kStore };

struct TensorAccess {
  const Thread* thread = nullptr;
  TensorWord word = TensorWord::kNothing;
  Actor actor = 0;
  u32 event = 0;
  u32 first_column = 0;  // of an MMA's sums, and how many, and of a block's rows: its accumulator
  u32 columns = 0;       // and its shape
  u32 rows = 0;
};

class TensorMemory {
 public:
  // Nobody can say where columns will be found.
  static constexpr u32 kNowhere = ~0u;
  // The first column, or kNowhere; the same columns of another memory too, unless that is null.
  u32 allocate(u32 columns, u64 random, TensorMemory* other);
  // Whether exactly this was allocated; then it no longer is.
  bool release(u32 first, u32 columns);
  u32 allocated_columns() const;

  // What is wrong with columns as a place, empty if nothing.
  std::string misplaced(TensorAddress first, u32 columns, u32 alignment) const;

  // Check and remember an access to columns of some quarters of the lanes. Reads of what nobody
  // wrote, and conflicts with what the thread does not know to be complete, are faults.
  struct Area {
    u32 first = 0;
    u32 columns = 0;
    u32 quarter = kTensorQuarters;  // kTensorQuarters: all of them
    const char* what = "";          // "sums", "scales of A", ...
  };
  void note_read(const Area& area, const TensorAccess& access);
  void note_write(const Area& area, const TensorAccess& access);
  // The check of a write alone: of a warp's threads each must know what it overwrites.
  void check_write(const Area& area, const TensorAccess& access);
  // The thread must know that every access is complete.
  void check_idle(u32 first, u32 columns, const Thread& thread) const;
  void forget(u32 first, u32 columns);

  u32& at(u32 lane, u32 column) { return values_[column * gpu::hw::kTensorLanes + lane]; }

 private:
  struct Stamp {
    TensorWord word = TensorWord::kNothing;
    Actor actor = 0;
    u32 event = 0;
    u32 first_column = 0;
    u32 columns = 0;
    u32 rows = 0;
  };
  struct Cell {
    Stamp writer;
    std::vector<Stamp> readers;
  };

  static Stamp stamp_of(const TensorAccess& access);
  Cell& cell(u32 quarter, u32 column) { return cells_[column * kTensorQuarters + quarter]; }
  bool is_free(u32 first, u32 columns) const;
  template <typename Function>
  void for_each_cell(const Area& area, Function function);

  std::map<u32, u32> allocations_;  // columns by first
  std::vector<Cell> cells_ = std::vector<Cell>(gpu::hw::kTensorColumns * kTensorQuarters);
  std::vector<u32> values_ =
      std::vector<u32>(gpu::hw::kTensorColumns * gpu::hw::kTensorLanes, 0x7fa5'5a5a);
};

}  // namespace thresher::emulator
