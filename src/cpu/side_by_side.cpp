// SPDX-License-Identifier: Apache-2.0
#include "cpu/side_by_side.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include "cpu/features.hpp"
#include "parallel.hpp"

namespace thresher::cpu {

void side_by_side(std::size_t count, std::size_t thread_count,
                  const std::function<void(std::size_t)>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work_or_note = [&](std::int64_t i) {
    try {
      work(static_cast<std::size_t>(i));
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  for_each_in_parallel(static_cast<std::int64_t>(count),
                       std::max(1, static_cast<int>(thread_count)), work_or_note);
  if (failure) std::rethrow_exception(failure);
}

void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  static const auto cores = static_cast<std::size_t>(usable_core_count());
  side_by_side(count, cores, work);
}

}  // namespace thresher::cpu
