// SPDX-License-Identifier: Apache-2.0
#include "cpu/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "thresher/error.hpp"

namespace thresher::cpu {
namespace {

// Calls often follow each other within microseconds, where a spin beats a wake-up by the kernel;
// after about 50 us of nothing a thread goes to sleep.
constexpr int kSpinCount = 2000;

// Returns once value != old.
void wait_while_equal(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int spin = 0; spin < kSpinCount; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    spin_pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

Pool::Pool(int thread_count) {
  workers_.reserve(static_cast<std::size_t>(std::max(0, thread_count - 1)));
  try {
    for (int index = 1; index < thread_count; ++index) {
      workers_.emplace_back([this, index] { work(index); });
    }
  } catch (const std::exception& error) {
    stop();  // destroying a std::thread that has not been joined would end the process
    throw Error(fmt::format("only {} of {} threads could be started: {}", workers_.size() + 1,
                            thread_count, error.what()));
  }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  stop_ = true;
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Pool::work(int thread_index) {
  for (std::uint32_t seen = 0;; ++seen) {
    wait_while_equal(epoch_, seen);
    if (stop_) return;
    function_(context_, thread_index);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void Pool::dispatch(Function function, const void* context) {
  placement_.make_room(workers_);
  function_ = function;
  context_ = context;
  busy_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  function(context, 0);
  for (std::uint32_t busy; (busy = busy_.load(std::memory_order_acquire)) != 0;) {
    wait_while_equal(busy_, busy);
  }
}

}  // namespace thresher::cpu
