// SPDX-License-Identifier: Apache-2.0
// Work on many pieces by threads that live as long as the call, for what is done now and then: the
// engine's pool is for what is done all the time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace thresher {

inline int hardware_thread_count() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// work(index) for every index below `count`, by at most `thread_count` threads, the caller among
// them; 0: one per core. What one of them throws is thrown when all have ended. A thread that the
// system refuses is done without.
template <class Work>
void for_each_in_parallel(std::int64_t count, int thread_count, const Work& work) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;  // the first one's
  const auto take = [&] {
    try {
      for (std::int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        work(i);
      }
    } catch (...) {
      next.store(count, std::memory_order_relaxed);
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  const std::int64_t wanted =
      std::min<std::int64_t>(count, thread_count > 0 ? thread_count : hardware_thread_count());
  std::vector<std::thread> threads;
  try {
    for (std::int64_t i = 1; i < wanted; ++i) threads.emplace_back(take);
  } catch (const std::system_error&) {
    // The others do the work.
  }
  take();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace thresher
