// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/census.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {
namespace {

// A contestant's limit on processes is far below; a tree that grows while it is read has an end.
constexpr int kTasksMax = 4096;

std::string read_small(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  const ssize_t count = fd ? read(fd.get(), buffer, sizeof buffer) : 0;
  return {buffer, static_cast<std::size_t>(count > 0 ? count : 0)};
}

std::vector<pid_t> tasks_of(const std::string& process_folder) {
  std::vector<pid_t> tasks;
  DIR* stream = opendir((process_folder + "/task").c_str());
  if (stream == nullptr) return tasks;
  while (const dirent* entry = readdir(stream)) {
    const auto task = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (task > 0) tasks.push_back(task);
  }
  closedir(stream);
  return tasks;
}

struct TaskStat {
  char state = 'X';
  std::int64_t ended_children_ns = 0;  // CPU time of the process's children that have ended
};

// What stands behind the name, which is in brackets and may hold anything.
TaskStat stat_of(const std::string& task_folder) {
  constexpr int kFieldsBetween = 12;  // behind the state, before the times of children
  const std::string text = read_small(task_folder + "/stat");
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  TaskStat stat;
  std::int64_t field = 0;
  std::int64_t user_ticks = 0;
  std::int64_t system_ticks = 0;
  rest >> stat.state;
  for (int i = 0; i < kFieldsBetween; ++i) rest >> field;
  if (rest >> user_ticks >> system_ticks) {
    stat.ended_children_ns =
        (user_ticks + system_ticks) * (std::int64_t{1000000000} / sysconf(_SC_CLK_TCK));
  }
  return stat;
}

// Stopped, or over.
bool is_at_rest(char state) { return std::string_view("TtZXx").find(state) != std::string::npos; }

std::int64_t line_value(const std::string& text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::strtoll(text.c_str() + at + key.size(), nullptr, 10);
}

std::int64_t cpu_ns_of(pid_t process) {
  clockid_t clock{};
  timespec spent{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &spent) != 0) return 0;
  return spent.tv_sec * std::int64_t{1000000000} + spent.tv_nsec;
}

bool is_bound(pid_t task, const cpu_set_t& allowed) {
  cpu_set_t cores;
  if (sched_getaffinity(task, sizeof cores, &cores) != 0) return true;  // it has just ended
  CPU_AND(&cores, &cores, &allowed);
  cpu_set_t all;
  return sched_getaffinity(task, sizeof all, &all) != 0 || CPU_EQUAL(&cores, &all) != 0;
}

class Counter {
 public:
  explicit Counter(const std::vector<int>& cores) : asks_for_cores_(!cores.empty()) {
    CPU_ZERO(&allowed_);
    for (const int core : cores) CPU_SET(core, &allowed_);
  }

  void count(pid_t process) {
    const std::string folder = fmt::format("/proc/{}", process);
    census_.cpu_ns += cpu_ns_of(process);
    census_.memory_bytes += 1024 * line_value(read_small(folder + "/status"), "RssAnon:");
    census_.written_bytes += line_value(read_small(folder + "/io"), "\nwrite_bytes:");
    for (const pid_t task : tasks_of(folder)) {
      if (++census_.task_count > kTasksMax) return;
      const std::string task_folder = fmt::format("{}/task/{}", folder, task);
      const TaskStat stat = stat_of(task_folder);
      if (!is_at_rest(stat.state)) census_.all_stopped = false;
      // Of whoever was born and has ended within a call nothing else is left.
      if (task == process) census_.cpu_ns += stat.ended_children_ns;
      if (asks_for_cores_ && !is_bound(task, allowed_)) census_.all_bound = false;
      count_children(read_small(task_folder + "/children"));
    }
  }

  const Census& census() const { return census_; }

 private:
  void count_children(const std::string& numbers) {
    const char* at = numbers.c_str();
    char* end = nullptr;
    for (long child = std::strtol(at, &end, 10); end != at; child = std::strtol(at, &end, 10)) {
      count(static_cast<pid_t>(child));
      at = end;
    }
  }

  const bool asks_for_cores_;
  cpu_set_t allowed_;
  Census census_;
};

}  // namespace

Census take_census(pid_t process, const std::vector<int>& cores) {
  Counter counter(cores);
  counter.count(process);
  return counter.census();
}

}  // namespace thresher::referee
