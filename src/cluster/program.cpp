// SPDX-License-Identifier: Apache-2.0
#include "cluster/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "referee/sandbox/scratch.hpp"
#include "thresher/error.hpp"

extern char** environ;

namespace thresher::cluster {
namespace {

using referee::UniqueFd;
using ProgramClock = std::chrono::steady_clock;

constexpr std::size_t kOutputBytesMax = std::size_t{64} << 20;

struct Pipe {
  UniqueFd ours;
  UniqueFd theirs;
};

// Sockets, because a write to a program that has gone must not end us.
Pipe make_pipe() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(fmt::format("no pipe to a program: {}", std::strerror(errno)));
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

pid_t spawn(std::vector<std::string>& words, const Pipe& in, const Pipe& out, const Pipe& err) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.theirs.get(), STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

void send_all(UniqueFd& to, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = send(to.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  shutdown(to.get(), SHUT_WR);
}

// False when nothing more will come.
bool take(const UniqueFd& from, std::string& text) {
  char buffer[16384];
  const ssize_t count = read(from.get(), buffer, sizeof buffer);
  if (count < 0) return errno == EINTR;
  if (text.size() < kOutputBytesMax) text.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

// Reads both until they end or the time is over; false: it is over.
bool listen(const UniqueFd& out, const UniqueFd& err, ProgramClock::time_point deadline,
            ProgramResult& result) {
  bool open[2] = {true, true};
  while (open[0] || open[1]) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - ProgramClock::now());
    if (left.count() <= 0) return false;
    pollfd fds[2] = {{open[0] ? out.get() : -1, POLLIN, 0}, {open[1] ? err.get() : -1, POLLIN, 0}};
    if (poll(fds, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
    if (fds[0].revents != 0) open[0] = take(out, result.out);
    if (fds[1].revents != 0) open[1] = take(err, result.err);
  }
  return true;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string ProgramResult::complaint() const {
  std::string text = err.empty() ? out : err;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? fmt::format("exit code {}", exit_code)
                      : text.substr(text.find_last_of('\n') + 1);
}

ProgramResult run_program(std::vector<std::string> words, const std::string& input,
                          double seconds_max) {
  const auto deadline = ProgramClock::now() + std::chrono::duration_cast<ProgramClock::duration>(
                                                  std::chrono::duration<double>(seconds_max));
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  const pid_t pid = spawn(words, in, out, err);
  if (pid < 0) {
    return {kNoSuchProgram, {}, fmt::format("there is no program '{}' on the PATH", words[0])};
  }
  for (Pipe* pipe : {&in, &out, &err}) pipe->theirs.close();
  send_all(in.ours, input);
  ProgramResult result;
  const bool in_time = listen(out.ours, err.ours, deadline, result);
  if (!in_time) kill(pid, SIGKILL);
  result.exit_code = wait_for(pid);
  if (!in_time) result.err = fmt::format("'{}' did not answer in {} s", words[0], seconds_max);
  return result;
}

}  // namespace thresher::cluster
