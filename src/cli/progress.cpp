// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "cli/terminal.hpp"

namespace thresher::cli {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr Progress::Clock::duration kQuiet = std::chrono::seconds(10);  // without a terminal

}  // namespace

std::string drawn_line(std::string_view line, bool on_terminal, std::size_t width) {
  return on_terminal ? fmt::format("\r\033[K{}", line.substr(0, width - 1))
                     : fmt::format("{}\n", line);
}

Progress::Progress(std::int64_t step_count, Clock::duration silence)
    : on_terminal_(is_terminal(stderr)),
      step_count_(step_count),
      next_draw_(Clock::now() + (on_terminal_ ? silence : kQuiet)) {}

void Progress::begin_step(std::string_view what) {
  ++step_index_;
  update(what);
}

void Progress::update(std::string_view what) {
  const Clock::time_point now = Clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + (on_terminal_ ? Clock::duration(kRedrawInterval) : kQuiet);
  drawn_ = on_terminal_;
  const std::string line =
      fmt::format("[{}/{}] {}", step_index_, step_count_, what.substr(0, what.find('\n')));
  fmt::print(stderr, "{}", drawn_line(line, on_terminal_, terminal_width(stderr)));
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace thresher::cli
