// SPDX-License-Identifier: Apache-2.0
// The hand-over of decoded chunks from a decoding thread to a multiplying one: kRingSlots slots,
// one producer, one consumer, two counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "cpu/plan.hpp"
#include "cpu/pool.hpp"

namespace thresher::cpu {

class Ring {
 public:
  // Producer: the slot to fill next, once it is free; publish() hands it over.
  int wait_for_free_slot() const {
    const std::int64_t filled = filled_.load(std::memory_order_relaxed);
    wait([&] { return filled - released_.load(std::memory_order_acquire) < kRingSlots; });
    return static_cast<int>(filled % kRingSlots);
  }
  void publish() { filled_.fetch_add(1, std::memory_order_release); }

  // Consumer: the slot to read next, once it is full; release() gives it back.
  int wait_for_full_slot() const {
    const std::int64_t released = released_.load(std::memory_order_relaxed);
    wait([&] { return filled_.load(std::memory_order_acquire) > released; });
    return static_cast<int>(released % kRingSlots);
  }
  void release() { released_.fetch_add(1, std::memory_order_release); }

 private:
  // Spins, then yields: on a machine with fewer cores than threads the other side must get to run.
  template <class Ready>
  static void wait(const Ready& ready) {
    for (int spin = 0; !ready(); ++spin) {
      if (spin < 1000) {
        spin_pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

  alignas(64) std::atomic<std::int64_t> filled_{0};
  alignas(64) std::atomic<std::int64_t> released_{0};
};

}  // namespace thresher::cpu
