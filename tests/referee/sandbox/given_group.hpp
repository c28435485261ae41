// SPDX-License-Identifier: Apache-2.0
// A group of version 2 with a controller in it, as a session or a container gives it to somebody,
// and who enters it.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>

#include "referee/sandbox/cage.hpp"
#include "referee/sandbox/group_files.hpp"
#include "referee/sandbox/seat.hpp"

namespace thresher::testing {

class GivenGroup {
 public:
  // Without a name any controller will do: what the kernel refuses and grants is the same for all.
  explicit GivenGroup(const std::string& controller = "") {
    const std::filesystem::path root = referee::find_cage_roots().unified;
    std::istringstream names(referee::text_of(root / "cgroup.controllers"));
    for (std::string name; names >> name;) {
      if (controller.empty() || name == controller) controller_ = name;
    }
    path_ = root / fmt::format("thresher-test-{}", getpid());
    is_there_ = !root.empty() && !controller_.empty() &&
                referee::put(root / "cgroup.subtree_control", "+" + controller_) &&
                mkdir(path_.c_str(), 0755) == 0;
  }
  GivenGroup(const GivenGroup&) = delete;
  GivenGroup& operator=(const GivenGroup&) = delete;
  ~GivenGroup() {
    if (!is_there_) return;
    referee::remove_cage(path_);
    EXPECT_FALSE(std::filesystem::exists(path_)) << "something is left in it";
  }

  bool is_there() const { return is_there_; }
  const std::filesystem::path& path() const { return path_; }
  const std::string& controller() const { return controller_; }

  bool give_to(uid_t user) const {
    bool ok = chown(path_.c_str(), user, user) == 0;
    for (const char* file : {"cgroup.procs", "cgroup.threads", "cgroup.subtree_control"}) {
      ok = ok && chown((path_ / file).c_str(), user, user) == 0;
    }
    return ok;
  }

 private:
  std::string controller_;
  std::filesystem::path path_;
  bool is_there_ = false;
};

#define REQUIRE_GROUP(given) \
  if (!(given).is_there()) GTEST_SKIP() << "no group of version 2 can be made with a controller"

// What a process says of itself that has entered the group.
inline std::string said_inside(const GivenGroup& given, uid_t user,
                               const std::function<std::string()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t pid = fork();
  if (pid == 0) {
    std::string text = referee::put(given.path() / "cgroup.procs", "0") ? "" : "cannot enter";
    const bool is_root = user == 0;
    if (!is_root && (setgroups(0, nullptr) != 0 || setgid(user) != 0 || setuid(user) != 0)) {
      text = "cannot change users";
    }
    if (text.empty()) text = work();
    // Nobody takes care of this process, which may have taken a seat.
    referee::leave_seat(given.path() / fmt::format("thresher-seat-{}", getpid()));
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t size; (size = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return text;
}

}  // namespace thresher::testing
