// SPDX-License-Identifier: Apache-2.0
// What a season says on stderr while it is played: what happens now, as one line that changes on a
// terminal and as a line every ten seconds elsewhere; and what stays: verdicts, with their reasons.
#pragma once

#include <chrono>
#include <string>

namespace thresher::cli {

class SeasonTicker {
 public:
  explicit SeasonTicker(double seconds_max);
  SeasonTicker(const SeasonTicker&) = delete;
  SeasonTicker& operator=(const SeasonTicker&) = delete;
  ~SeasonTicker();

  void begin(const std::string& what);     // "match pipeline_stages against ..."
  void step(const std::string& step);      // a part of it: "heat 3: ..."
  void announce(const std::string& what);  // in a line of its own, to stay

 private:
  using Clock = std::chrono::steady_clock;

  void show();

  const bool on_terminal_;
  const double seconds_max_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_;
  std::string what_;
  std::string step_;
};

}  // namespace thresher::cli
