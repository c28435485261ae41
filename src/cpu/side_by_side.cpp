// SPDX-License-Identifier: Apache-2.0
#include "cpu/side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "cpu/features.hpp"

namespace thresher::cpu {

void side_by_side(std::size_t count, std::size_t thread_count,
                  const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take_pieces = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(count, thread_count); ++i) others.emplace_back(take_pieces);
  take_pieces();
  others.clear();
  if (failure) std::rethrow_exception(failure);
}

void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  static const auto cores = static_cast<std::size_t>(usable_core_count());
  side_by_side(count, cores, work);
}

}  // namespace thresher::cpu
