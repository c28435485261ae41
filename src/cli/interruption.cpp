// SPDX-License-Identifier: Apache-2.0
#include "cli/interruption.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "cli/terminal.hpp"
#include "referee/sandbox/leftovers.hpp"

namespace thresher::cli {
namespace {

// Any thread may be the one that a signal interrupts, a driver's too, and hardly anything may be
// done there: the handler passes the number on.
std::atomic<int> pipe_end = -1;

void pass_on(int signal) {
  const int error_before = errno;
  const auto number = static_cast<unsigned char>(signal);
  const ssize_t written = write(pipe_end, &number, 1);
  static_cast<void>(written);
  errno = error_before;
}

// Streams may be held by a thread that is stuck, so this writes past them.
void say(const std::string& text) {
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
}

}  // namespace

Interruption::Interruption(std::string advice) : advice_(std::move(advice)) {
  referee::keep_caretaker();
  int ends[2];
  // Without a pipe signals do what they always did.
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  read_fd_ = ends[0];
  pipe_end = ends[1];
  watcher_ = std::thread([this] { watch(); });
  struct sigaction action {};
  action.sa_handler = pass_on;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  if (!watcher_.joinable()) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  pass_on(0);
  watcher_.join();
  close(read_fd_);
  close(pipe_end.exchange(-1));
}

void Interruption::watch() const {
  unsigned char number = 0;
  while (read(read_fd_, &number, 1) < 0 && errno == EINTR) {
  }
  if (number == 0) return;
  referee::clear_away_for_good();
  say(fmt::format("{}thresher: interrupted; {}\n", is_terminal(stderr) ? "\r\033[K" : "", advice_));
  _exit(128 + number);
}

}  // namespace thresher::cli
