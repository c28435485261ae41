// SPDX-License-Identifier: Apache-2.0
// A pool of threads that is created once. run() makes every thread, the caller among them, execute
// one function; it allocates nothing. One run() at a time: the engine takes turns.
//
// Work that any thread may take (for_each...) is done when it is done: a thread that the system has
// not let run by then stays out, and nobody waits for it. On a machine with other programs that is
// a matter of milliseconds per call.
//
// fork() copies no thread but its caller: in the child a pool of the parent has nobody to work. It
// says so there instead of waiting for ever, and lets itself be destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "cpu/placement.hpp"

namespace thresher::cpu {

class Pool {
 public:
  // Throws Error when the system refuses a thread.
  explicit Pool(int thread_count);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  // Throws Error in a child of the process that the pool was made in. To be called before waiting
  // for a turn at the pool: a thread that had its turn at the moment of the fork never gives it
  // back there.
  void check_process() const;

  int thread_count() const { return static_cast<int>(workers_.size()) + 1; }

  // work(thread_index) on every thread; returns when all have returned. `work` must not throw.
  // Checks the process.
  template <class Work>
  void run(const Work& work) {
    dispatch(work, Late::kAwaited);
  }

  // The same, but neighbours are mostly done by the same thread, in their order: every thread has a
  // stretch, and helps others when it is through.
  template <class Work>
  void for_each_in_stretches(std::int64_t count, const Work& work) {
    const std::int64_t threads = thread_count();
    for (std::int64_t t = 0; t < threads; ++t) {
      stretches_[static_cast<std::size_t>(t)].next.store(count * t / threads,
                                                         std::memory_order_relaxed);
    }
    const auto take = [&](int thread_index) {
      for (std::int64_t turn = 0; turn < threads; ++turn) {
        const std::int64_t owner = (thread_index + turn) % threads;
        std::atomic<std::int64_t>& next = stretches_[static_cast<std::size_t>(owner)].next;
        const std::int64_t behind = count * (owner + 1) / threads;
        for (std::int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < behind;
             i = next.fetch_add(1, std::memory_order_relaxed)) {
          work(i, thread_index);
        }
      }
    };
    dispatch(take, Late::kLeftOut);
  }

  // work(index) for every index below `count`, taken by whichever thread is free.
  template <class Work>
  void for_each(std::int64_t count, const Work& work) {
    std::atomic<std::int64_t> next{0};
    const auto take = [&](int thread_index) {
      for (std::int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        work(i, thread_index);
      }
    };
    dispatch(take, Late::kLeftOut);
  }

 private:
  using Function = void (*)(const void* context, int thread_index);
  // What becomes of workers that come when the caller has nothing left to do.
  enum class Late { kAwaited, kLeftOut };

  template <class Work>
  void dispatch(const Work& work, Late late) {
    dispatch([](const void* context, int index) { (*static_cast<const Work*>(context))(index); },
             &work, late);
  }
  void dispatch(Function function, const void* context, Late late);
  void work(int thread_index);
  std::uint64_t enter();
  std::uint32_t close_door();
  void stop();
  bool is_of_parent() const;

  // The next index of a thread's stretch, in a cache line of its own.
  struct alignas(64) Stretch {
    std::atomic<std::int64_t> next{0};
  };

  std::uint32_t fork_count_;  // when it was made
  std::vector<std::thread> workers_;
  std::vector<Stretch> stretches_;
  Placement placement_;
  Function function_ = nullptr;
  const void* context_ = nullptr;
  std::atomic<bool> stop_{false};  // who was left out of a run may ask while it is written
  // Bumped to start a run; a worker that has seen epoch e waits for another.
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  // The epoch of the run that it is the door to (upper half), whether it is closed, and how many
  // workers have entered. Whoever has entered may read function_ and context_ until it has left.
  alignas(64) std::atomic<std::uint64_t> door_{kClosed};
  alignas(64) std::atomic<std::uint32_t> left_count_{0};

  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 31;
};

// Tells the core that this is a spin, so that its sibling thread gets the execution units.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace thresher::cpu
