// SPDX-License-Identifier: Apache-2.0
#include "cli/season_ticker.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "cli/terminal.hpp"

namespace thresher::cli {
namespace {

constexpr auto kBetweenLines =
    std::chrono::seconds(10);  // between two lines where there is no terminal

// What a match ends with is announced as its verdict.
bool is_verdict(const std::string& step) {
  for (const char* kind : {"accepted (", "rejected (", "wrong (", "invalid (", "unclear ("}) {
    if (step.starts_with(kind)) return true;
  }
  return false;
}

// "heat 3: packing took ..." is for the log: here its number is enough.
std::string without_details(const std::string& step) { return step.substr(0, step.find(':')); }

}  // namespace

SeasonTicker::SeasonTicker(double seconds_max)
    : on_terminal_(is_terminal(stderr)), seconds_max_(seconds_max) {}

SeasonTicker::~SeasonTicker() {
  if (on_terminal_) fmt::print(stderr, "\r\033[K");
}

void SeasonTicker::begin(const std::string& what) {
  what_ = what;
  step_.clear();
  show();
}

void SeasonTicker::step(const std::string& step) {
  if (step.starts_with("heat ")) step_ = without_details(step);
  if (!is_verdict(step)) show();
}

void SeasonTicker::announce(const std::string& what) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  fmt::print(stderr, fmt::runtime(on_terminal_ ? "\r\033[K[{:3.0f} s] {}\n" : "[{:3.0f} s] {}\n"),
             seconds, what);
  std::fflush(stderr);
  next_ = Clock::now() + kBetweenLines;
  what_.clear();
  step_.clear();
}

void SeasonTicker::show() {
  const Clock::time_point now = Clock::now();
  if (what_.empty() || (!on_terminal_ && now < next_)) return;
  next_ = now + kBetweenLines;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const std::size_t width = static_cast<std::size_t>(terminal_width(stderr)) - 1;
  std::string line = fmt::format("[{:.0f} of {:.0f} s] {}", seconds, seconds_max_, what_);
  if (!step_.empty()) line = fmt::format("{}: {}", line.substr(0, width - 10), step_);
  fmt::print(stderr, fmt::runtime(on_terminal_ ? "\r\033[K{}" : "{}\n"), line.substr(0, width));
  std::fflush(stderr);
}

}  // namespace thresher::cli
