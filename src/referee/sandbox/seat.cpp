// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/seat.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "referee/sandbox/group_files.hpp"
#include "referee/sandbox/leftovers.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSeatPrefix = "thresher-seat-";

bool has_word(const fs::path& file, const std::string& wanted) {
  std::istringstream words(text_of(file));
  for (std::string word; words >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

std::vector<pid_t> processes_in(const fs::path& group) {
  std::vector<pid_t> processes;
  std::istringstream numbers(text_of(group / "cgroup.procs"));
  for (pid_t pid = 0; numbers >> pid;) processes.push_back(pid);
  return processes;
}

pid_t parent_of(pid_t process) {
  const std::string text = text_of(fmt::format("/proc/{}/stat", process));
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

// This process, and its caretaker.
bool is_ours(pid_t process) { return process == getpid() || parent_of(process) == getpid(); }

// Seats whose referee is gone are empty.
void clear_seats(const fs::path& group) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(group, ignored)) {
    const bool is_seat = entry.path().filename().string().starts_with(kSeatPrefix);
    if (is_seat) rmdir(entry.path().c_str());
  }
}

std::string failure(const fs::path& group) {
  return fmt::format("{}: {}; {}", group.string(), std::strerror(errno), group_advice());
}

// Why it has none; empty: it sits.
std::string take_seat(const fs::path& group) {
  const std::vector<pid_t> all = processes_in(group);
  if (!std::all_of(all.begin(), all.end(), is_ours)) {
    return fmt::format("other processes live in {}, so it has no groups with a limit below it; {}",
                       group.string(), group_advice());
  }
  clear_seats(group);
  const fs::path seat = group / fmt::format("{}{}", kSeatPrefix, getpid());
  // The caretaker may come to life with that, and sits there as well.
  remember(Leftover::kSeat, seat.string());
  if (mkdir(seat.c_str(), 0755) != 0) return failure(group);
  for (const pid_t process : processes_in(group)) {
    if (!put(seat / "cgroup.procs", std::to_string(process))) return failure(seat);
  }
  return {};
}

}  // namespace

// Where systemd runs the session; elsewhere whoever runs it knows.
std::string group_advice() {
  return fmt::format("start it in a group of its own: systemd-run {}--scope -p Delegate=yes ...",
                     geteuid() == 0 ? "" : "--user ");
}

fs::path group_around_seat(const fs::path& own) {
  return own.filename().string().starts_with(kSeatPrefix) ? own.parent_path() : own;
}

std::string enable_controller(const fs::path& group, const std::string& controller) {
  if (!has_word(group / "cgroup.controllers", controller)) {
    return fmt::format("{} has no controller '{}'", group.string(), controller);
  }
  if (has_word(group / "cgroup.subtree_control", controller)) return {};
  // Some controllers (cpuset, pids) can be turned on beside processes, for threads of theirs: then
  // no process may enter a group below, with whatever limit. Only root's own group has both.
  const bool is_root = !fs::exists(group / "cgroup.type");
  if (!is_root && !processes_in(group).empty()) {
    if (std::string why_not = take_seat(group); !why_not.empty()) return why_not;
  }
  return put(group / "cgroup.subtree_control", "+" + controller) ? std::string() : failure(group);
}

bool leave_seat(const fs::path& seat) {
  const fs::path group = seat.parent_path();
  std::istringstream controllers(text_of(group / "cgroup.subtree_control"));
  for (std::string controller; controllers >> controller;) {
    put(group / "cgroup.subtree_control", "-" + controller);
  }
  put(group / "cgroup.procs", std::to_string(getpid()));
  return rmdir(seat.c_str()) == 0 || errno == ENOENT;
}

}  // namespace thresher::referee
