// SPDX-License-Identifier: Apache-2.0
// How far a long command is, on stderr: on a terminal one line that is gone at the end, elsewhere a
// line every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace thresher::cli {

// On a terminal in the place of the line before: one that reached the edge would not be taken back
// by the next, so it ends before. In a file whole, and below the others.
std::string drawn_line(std::string_view line, bool on_terminal, std::size_t width);

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // A command that may be done in no time stays silent for a while first.
  explicit Progress(std::int64_t step_count, Clock::duration silence = std::chrono::seconds(2));
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  // A step begins; the ones before it are done.
  void begin_step(std::string_view what);
  // How it is going with the step that has begun.
  void update(std::string_view what);

  // Takes the line away before something else is written; the next step brings it back.
  void clear();

 private:
  const bool on_terminal_;
  const std::int64_t step_count_;
  std::int64_t step_index_ = 0;
  Clock::time_point next_draw_;
  bool drawn_ = false;
};

}  // namespace thresher::cli
