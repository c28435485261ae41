// SPDX-License-Identifier: Apache-2.0
// The one stream that an emulated device has: calls of all threads take turns, and what they do to
// global memory is followed until the host waits for the device.
#pragma once

#include <mutex>

#include "emulator/global_history.hpp"

namespace thresher::emulated {

class Timeline {
 public:
  // run(history), while nobody else's runs. After a fault nothing is known of the memory any more.
  template <typename Run>
  void run(Run run) {
    const std::lock_guard lock(mutex_);
    try {
      run(history_);
    } catch (...) {
      history_.synchronize();
      throw;
    }
  }

  void synchronize() {
    run([](emulator::GlobalHistory& history) { history.synchronize(); });
  }

 private:
  std::mutex mutex_;
  emulator::GlobalHistory history_;
};

}  // namespace thresher::emulated
