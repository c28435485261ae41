// SPDX-License-Identifier: Apache-2.0
// While one is alive, SIGINT and SIGTERM end the command with a sentence that says how to go on,
// leave neither processes nor folders behind, and give the exit code 128 + the signal's number.
// After a signal that cannot be caught the caretaker does the same (referee/sandbox/leftovers.hpp).
// A signal that was ignored before, as under nohup, stays so. There is one at a time.
#pragma once

#include <signal.h>

#include <array>
#include <string>
#include <thread>

namespace thresher::cli {

class Interruption {
 public:
  // `advice` is a sentence without a period: "the same command starts it anew".
  explicit Interruption(std::string advice);
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};

  // Waits for the first number that comes through the pipe; 0 is our own end.
  void watch() const;

  const std::string advice_;
  int read_fd_ = -1;
  std::array<struct sigaction, kSignals.size()> before_{};
  std::thread watcher_;
};

}  // namespace thresher::cli
