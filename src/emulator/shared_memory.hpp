// SPDX-License-Identifier: Apache-2.0
// A block's shared memory with its shadow (shadow.hpp): each access is checked against what the
// accessing threads know (knowledge.hpp), and faults are thrown as Error.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "emulator/knowledge.hpp"
#include "emulator/shadow.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::emulator {

struct Thread;
using gpu::hw::SharedAddress;

// Where the window begins: not at 0, so that an offset taken for an address is out of bounds.
inline constexpr SharedAddress kSharedBase = 1024;
inline constexpr u32 kSharedBytesMax = 227 << 10;

// Who accesses: threads that all must know what came before, and the event that stands for the
// access. For an MMA that is 128 threads and an event of the warpgroup; for a copy the issuing
// thread and the phase it completes.
struct Access {
  const Thread* const* threads = nullptr;
  int thread_count = 1;
  Actor actor = 0;
  u32 event = 0;
  const char* by = "";  // how, for messages
  bool async = false;   // through the async proxy: copies and MMAs
  bool far = false;     // by a thread of another block
};

class SharedMemory {
 public:
  explicit SharedMemory(u32 bytes);

  // Why these bytes are no place for an access that needs such alignment; empty if they are.
  std::string misplaced(SharedAddress address, u32 bytes, u32 alignment_bytes) const;

  // The address must not be misplaced; `bytes` within 16 aligned bytes, or whole 16-byte pieces.
  void note_read(SharedAddress address, u32 bytes, const Access& access);
  void note_write(SharedAddress address, u32 bytes, const Access& access);
  void note_barrier(SharedAddress address, const Access& access);

  u8* data(SharedAddress address) { return &bytes_[address - kSharedBase]; }

 private:
  enum class Writer : u8 { kNobody, kStore, kFarStore, kCopy, kBarrier };
  struct Stamp {
    u32 event = 0;
    Actor actor = 0;
    Writer writer = Writer::kNobody;
    bool operator==(const Stamp&) const = default;
  };
  struct Reader {
    u32 event = 0;
    Actor actor = 0;
    u16 byte_mask = 0;
    bool is_like(const Reader& other) const { return actor == other.actor; }
  };

  void write(SharedAddress address, u32 bytes, const Access& access, Stamp stamp);
  void check_read(u32 byte_index, Stamp stamp, const Access& access);
  void check_overwrite(u32 byte_index, Stamp stamp, const Access& access);
  void check_reader(u32 byte_index, const Reader& reader, const Access& access) const;
  void check_known(u32 byte_index, Stamp stamp, const Access& access, const char* verb);
  static void check_fenced(SharedAddress address, Stamp stamp, const Access& access,
                           const char* verb);

  std::vector<u8> bytes_;
  Shadow<Stamp, Reader> shadow_;
  Stamp stamp_known_;  // the last one all threads of stamp_checked_by_ knew
  Access stamp_checked_by_;
};

}  // namespace thresher::emulator
