// SPDX-License-Identifier: Apache-2.0
// Who wrote and read what in global memory, over all launches since the host last waited for the
// device, and who of them may know of it.
//
// The model is PTX's (its chapter on memory consistency), and the words' contracts in
// gpu/hw/emulated.hpp. A thread's stores are published by fence_device and, after it, an atomic_add
// of the same thread; who sees that in an atomic_add or load_global_coherent and says fence_device
// then, or loads with load_global_acquire, knows all that the publisher knew at its fence. Barriers
// hand it on inside a block. Accesses of which at least one writes must be in that order, unless
// both are atomic_add or load_global_coherent.
// - load_global is for what the launch does not write, however ordered.
// - Copies read through the asynchronous proxy: who stored said fence_async_global before it
//   published, who copies said it after it learnt.
// - A dependent launch knows nothing of those before until it says wait_for_previous_kernel; only
//   what a thread of each block knew and had fenced when it said start_next_kernel. Launches run
//   one after the other here, so that between them even atomics must be in order: their values
//   would not show it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/shadow.hpp"

namespace thresher::emulator {

struct Block;
struct Thread;
struct LaunchOptions;

// How an access is made.
enum class GlobalWord : u8 {
  kNone,      // nobody made one
  kOrdinary,  // store_global, copies of pieces
  kConstant,  // load_global
  kStrong,    // atomic_add, load_global_coherent
  kCopy,      // bulk copies: the asynchronous proxy
};

struct GlobalAccess {
  const Thread& thread;
  GlobalWord word;
  // Whose event stands for it: the thread's, but a copy is over only when it has been waited for.
  Actor actor;
  u32 event;
  const void* at;  // as the kernel knows it, for messages
};

// What a thread that published through a word of memory knew.
struct Publication {
  Views released;  // when it said fence_device
  Views written;   // when it wrote the word
};

class GlobalHistory {
 public:
  // A launch begins: what its threads know at the start. Blocks are numbered from first_block on;
  // those of a cluster have the number of its first one, as their actors are numbered together.
  struct Start {
    u32 first_block = 0;
    u32 complete_below = 0;
    Views views;
  };
  Start begin_launch(const LaunchOptions& options);
  // Throws Error where nothing that follows could know that what was before this launch is over.
  void end_launch();

  // Words of dependent launch. The first start_next_kernel of a block counts, or its end. What was
  // known there reaches the next launch as far as somebody has fenced it.
  void wait_for_previous(Thread& thread);
  void start_next(const Block& block, const Knowledge& known);

  // The address is where the device has the bytes; kernels may see a copy of them.
  void note_read(std::uintptr_t address, u32 bytes, const GlobalAccess& access);
  void note_write(std::uintptr_t address, u32 bytes, const GlobalAccess& access);
  Publication& publication(std::uintptr_t address) { return publications_[address]; }

  // The host has waited: all is over.
  void synchronize();

 private:
  struct Stamp {
    u32 event = 0;
    u32 block = 0;
    Actor actor = 0;
    GlobalWord word = GlobalWord::kNone;
    bool operator==(const Stamp&) const = default;
  };
  struct Reader : Stamp {
    u16 byte_mask = 0;
    bool is_like(const Reader& other) const {
      return block == other.block && actor == other.actor && word == other.word;
    }
  };
  using PageShadow = Shadow<Stamp, Reader>;
  static constexpr u32 kPageBytes = 4096;

  struct Launch {
    u32 first_block = 0;
    int threads_per_block = 0;
    int threads_per_cluster = 0;
  };

  template <typename Function>
  void for_each_page(std::uintptr_t address, u32 bytes, Function function);
  PageShadow& page(std::uintptr_t number);

  // `verb` is what the access does, `did` what was done before it.
  void check_order(const Stamp& before, const GlobalAccess& access, const char* verb,
                   const char* did) const;
  void check_same_launch(const Stamp& before, const GlobalAccess& access, const char* verb,
                         const char* did) const;
  void check_proxies(const Stamp& before, const GlobalAccess& access) const;
  std::string name_of(const Stamp& stamp) const;
  std::string missing_order(const Stamp& before, const Thread& thread) const;

  std::unordered_map<std::uintptr_t, std::unique_ptr<PageShadow>> pages_;
  std::uintptr_t last_page_number_ = 0;
  PageShadow* last_page_ = nullptr;
  std::map<std::uintptr_t, Publication> publications_;

  std::vector<Launch> launches_;
  u32 next_block_ = 1;
  bool dependent_ = false;
  bool waited_ = false;
  std::vector<bool> has_started_next_;  // by block of the launch
  Start next_;                          // what a dependent launch will know at its start
  // Launches on several streams: where they part, and the blocks of each.
  u32 fork_block_ = 0;
  std::unordered_map<int, Views> lanes_;
};

}  // namespace thresher::emulator
