// SPDX-License-Identifier: Apache-2.0
#include "emulated/mutations/attempt.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "thresher/error.hpp"

namespace thresher::emulated::testing {
namespace {

constexpr unsigned kSecondsMax = 120;

std::string run_here(const Case& which, const emulator::SiteName& left_out, std::uint64_t seed,
                     const std::vector<std::uint8_t>& right) {
  const emulator::WatchedSites watched(left_out);
  try {
    return which.run(seed) == right ? "" : "wrong results";
  } catch (const std::exception& error) {
    return error.what();
  }
}

[[noreturn]] void answer(int pipe_end, const std::string& text) {
  alarm(0);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(pipe_end, text.data() + at, text.size() - at);
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  _exit(0);  // frames of fibres that were left own nothing that must be given back
}

std::string read_all(int pipe_end) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(pipe_end, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string noticed(const Case& which, const emulator::SiteName& left_out, std::uint64_t seed,
                    const std::vector<std::uint8_t>& right) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("pipe() failed");
  const pid_t child = fork();
  if (child < 0) throw Error("fork() failed");
  if (child == 0) {
    alarm(kSecondsMax);
    answer(ends[1], run_here(which, left_out, seed, right));
  }
  close(ends[1]);
  const std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "never ends" : fmt::format("signal {}", WTERMSIG(status));
  }
  return text;
}

}  // namespace thresher::emulated::testing
