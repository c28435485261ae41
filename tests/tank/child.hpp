// SPDX-License-Identifier: Apache-2.0
// A piece of a test in a process of its own: to be killed, to give up its rights, or to compete.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>

namespace thresher::testing {

// Runs `body(fd)` in a child; what it writes to `fd` can be read from output().
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) {
    int ends[2];
    if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    id_ = fork();
    if (id_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (id_ == 0) {
      close(ends[0]);
      // The parent's tests must not go on here, whatever happens.
      try {
        body(ends[1]);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
        _exit(1);
      }
      _exit(0);
    }
    close(ends[1]);
    read_end_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill();
    close(read_end_);
    int status = 0;
    waitpid(id_, &status, 0);
  }

  void kill() const { ::kill(id_, SIGKILL); }

  // All that was written until the child ended.
  std::string output() const {
    std::string text;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = read(read_end_, buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  pid_t id_ = 0;
  int read_end_ = -1;
};

inline void write_all(int fd, const std::string& text) {
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(1);
}

}  // namespace thresher::testing
