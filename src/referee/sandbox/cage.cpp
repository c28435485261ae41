// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/cage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <thread>

#include "referee/sandbox/group_files.hpp"
#include "referee/sandbox/leftovers.hpp"
#include "referee/sandbox/seat.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCagePrefix = "thresher-cage-";
constexpr std::chrono::milliseconds kRemovalPatience{2000};

// The paths of /proc/self/cgroup by controller; version 2 has none and stands under "".
std::map<std::string, std::string> own_groups() {
  std::map<std::string, std::string> groups;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    std::string name;
    do {
      std::getline(names, name, ',');
      groups[name] = line.substr(second + 1);
    } while (names.good() && !names.eof());
  }
  return groups;
}

struct CgroupMount {
  std::string root;  // which of its folders is mounted
  fs::path folder;   // and where
  bool is_unified;
  std::string options;
};

// A line of mountinfo: "36 35 98:0 /root /where options - type source super-options".
std::vector<CgroupMount> cgroup_mounts() {
  std::vector<CgroupMount> mounts;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - cgroup");
    if (dash == std::string::npos) continue;
    std::istringstream words(line);
    std::string skipped;
    std::string root;
    std::string where;
    words >> skipped >> skipped >> skipped >> root >> where;
    std::istringstream rest(line.substr(dash + 3));
    std::string type;
    std::string source;
    std::string options;
    rest >> type >> source >> options;
    mounts.push_back({root, where, type == "cgroup2", "," + options + ","});
  }
  return mounts;
}

// A group's folder under a mount of its hierarchy; empty when it lies outside.
fs::path folder_in(const CgroupMount& mount, const std::string& group) {
  if (mount.root == "/") return mount.folder / fs::path(group).relative_path();
  if (group == mount.root) return mount.folder;
  if (!group.starts_with(mount.root + "/")) return {};
  return mount.folder / group.substr(mount.root.size() + 1);
}

fs::path find_root(const std::vector<CgroupMount>& mounts,
                   const std::map<std::string, std::string>& groups,
                   const std::string& controller) {
  const auto group = groups.find(controller);
  if (group == groups.end()) return {};
  for (const CgroupMount& mount : mounts) {
    const bool fits =
        controller.empty()
            ? mount.is_unified
            : !mount.is_unified && mount.options.find("," + controller + ",") != std::string::npos;
    if (!fits) continue;
    const fs::path folder = folder_in(mount, group->second);
    std::error_code ignored;
    if (!folder.empty() && fs::is_directory(folder, ignored)) return folder;
  }
  return {};
}

std::string read_now(int fd) {
  char buffer[4096];
  const ssize_t count = pread(fd, buffer, sizeof buffer, 0);
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

UniqueFd open_file(const fs::path& file, int flags) {
  return UniqueFd(open(file.c_str(), flags | O_CLOEXEC));
}

// "key 123" among the lines of a file.
std::optional<std::int64_t> number_after(const std::string& text, std::string_view key) {
  std::istringstream words(text);
  std::string word;
  std::int64_t number = 0;
  while (words >> word >> number) {
    if (word == key) return number;
  }
  return std::nullopt;
}

std::string system_text() { return std::strerror(errno); }

// Cages whose referee is gone: the lock that it held is free.
void reclaim_cages(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kCagePrefix)) continue;
    const UniqueFd lock = open_file(entry.path(), O_RDONLY | O_DIRECTORY);
    if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    kill_cage(entry.path());
    remove_cage(entry.path());
  }
}

void reclaim_once(const CageRoots& roots) {
  static const bool done = [&] {
    for (const fs::path& root :
         {roots.unified, roots.freezer, roots.memory, roots.cpuset, roots.cpu_time}) {
      if (!root.empty()) reclaim_cages(root);
    }
    return true;
  }();
  static_cast<void>(done);
}

// Contestants can read it, and numbers in a row would tell them which arm of a match they are.
std::string drawn_name() {
  std::uint64_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) {
    throw Error("the kernel gives no random bytes");
  }
  return fmt::format("{}{}-{:016x}", kCagePrefix, getpid(), drawn);
}

}  // namespace

CageRoots find_cage_roots() {
  const std::vector<CgroupMount> mounts = cgroup_mounts();
  const std::map<std::string, std::string> groups = own_groups();
  return {.unified = group_around_seat(find_root(mounts, groups, "")),
          .freezer = find_root(mounts, groups, "freezer"),
          .memory = find_root(mounts, groups, "memory"),
          .cpuset = find_root(mounts, groups, "cpuset"),
          .cpu_time = find_root(mounts, groups, "cpuacct")};
}

Cage::Cage(const CageLimits& limits, const CageRoots& roots) : name_(drawn_name()) {
  reclaim_once(roots);
  enter_unified(roots);
  if (!can_freeze()) enter_freezer(roots);
  if (limits.memory_bytes > 0) limit_memory(roots, limits.memory_bytes);
  if (!limits.cores.empty()) bind_cores(roots, limits.cores);
  if (limits.processes > 0) limit_processes(roots, limits.processes);
  if (!cpu_time_) count_cpu_time(roots);
}

Cage::~Cage() {
  kill();
  for (const Folder& folder : folders_) {
    remove_cage(folder.path);
    forget(Leftover::kCage, folder.path.string());
  }
}

bool Cage::make_in(const fs::path& parent, std::string& why_not) {
  if (parent.empty()) {
    why_not = "no cgroups are mounted for it";
    return false;
  }
  const fs::path path = parent / name_;
  for (const Folder& folder : folders_) {
    if (folder.path == path) return true;  // controllers of version 1 may share a hierarchy
  }
  // Before it is there: whoever is killed in between leaves nothing.
  remember(Leftover::kCage, path.string());
  if (mkdir(path.c_str(), 0755) != 0) {
    why_not = fmt::format("no group can be made in {}: {}", parent.string(), system_text());
    forget(Leftover::kCage, path.string());
    return false;
  }
  Folder folder{path, open_file(path, O_RDONLY | O_DIRECTORY)};
  if (folder.lock) flock(folder.lock.get(), LOCK_SH);
  folders_.push_back(std::move(folder));
  doors_.push_back((path / "cgroup.procs").string());
  return true;
}

void Cage::enter_unified(const CageRoots& roots) {
  if (!make_in(roots.unified, why_no_freezer_)) {
    if (roots.unified.empty()) return;
    why_no_freezer_ += "; " + group_advice();
    if (roots.memory.empty()) why_no_memory_limit_ = why_no_freezer_;
    if (roots.cpuset.empty()) why_no_cores_ = why_no_freezer_;
    return;
  }
  unified_ = roots.unified / name_;
  cpu_time_ = open_file(unified_ / "cpu.stat", O_RDONLY);
  cpu_time_is_stat_ = static_cast<bool>(cpu_time_);
  freeze_ = open_file(unified_ / "cgroup.freeze", O_WRONLY);
  frozen_ = open_file(unified_ / "cgroup.events", O_RDONLY);
  if (!freeze_) why_no_freezer_ = "this kernel's cgroups cannot freeze (5.2 or later can)";
}

void Cage::enter_freezer(const CageRoots& roots) {
  std::string why_not;
  if (!make_in(roots.freezer, why_not)) return;
  const fs::path state = roots.freezer / name_ / "freezer.state";
  freeze_ = open_file(state, O_WRONLY);
  frozen_ = open_file(state, O_RDONLY);
  version_1_freezer_ = can_freeze();
  if (version_1_freezer_) why_no_freezer_.clear();
}

void Cage::limit_memory(const CageRoots& roots, std::int64_t bytes) {
  const std::string text = fmt::format("{}", bytes);
  if (has_controller(roots, "memory", why_no_memory_limit_) && put(unified_ / "memory.max", text)) {
    put(unified_ / "memory.swap.max", "0");
    memory_kills_ = open_file(unified_ / "memory.events", O_RDONLY);
    return;
  }
  if (roots.memory.empty() && !why_no_memory_limit_.empty()) return;
  why_no_memory_limit_.clear();
  if (!make_in(roots.memory, why_no_memory_limit_)) return;
  const fs::path folder = roots.memory / name_;
  if (!put(folder / "memory.limit_in_bytes", text)) {
    why_no_memory_limit_ = fmt::format("{}: {}", folder.string(), system_text());
    return;
  }
  put(folder / "memory.memsw.limit_in_bytes", text);
  memory_kills_ = open_file(folder / "memory.oom_control", O_RDONLY);
}

void Cage::bind_cores(const CageRoots& roots, const std::vector<int>& cores) {
  const std::string text = fmt::format("{}", fmt::join(cores, ","));
  if (has_controller(roots, "cpuset", why_no_cores_) && put(unified_ / "cpuset.cpus", text)) {
    binds_cores_ = true;
    return;
  }
  if (roots.cpuset.empty() && !why_no_cores_.empty()) return;
  why_no_cores_.clear();
  if (!make_in(roots.cpuset, why_no_cores_)) return;
  const fs::path folder = roots.cpuset / name_;
  binds_cores_ = put(folder / "cpuset.mems", text_of(roots.cpuset / "cpuset.mems")) &&
                 put(folder / "cpuset.cpus", text);
  if (!binds_cores_) why_no_cores_ = fmt::format("{}: {}", folder.string(), system_text());
}

// No reason is kept: each contestant has a limit of its own (sandbox.hpp), if it has a user
// namespace.
void Cage::limit_processes(const CageRoots& roots, std::int64_t count) {
  std::string why_not;
  limits_processes_ = has_controller(roots, "pids", why_not) &&
                      put(unified_ / "pids.max", fmt::format("{}", count));
}

// Of version 2, for this cage.
bool Cage::has_controller(const CageRoots& roots, const char* name, std::string& why_not) const {
  if (unified_.empty()) return false;
  why_not = enable_controller(roots.unified, name);
  return why_not.empty();
}

void Cage::count_cpu_time(const CageRoots& roots) {
  std::string why_not;
  if (make_in(roots.cpu_time, why_not)) {
    cpu_time_ = open_file(roots.cpu_time / name_ / "cpuacct.usage", O_RDONLY);
  }
}

void Cage::freeze() {
  const std::string_view text = version_1_freezer_ ? "FROZEN" : "1";
  const ssize_t written = pwrite(freeze_.get(), text.data(), text.size(), 0);
  static_cast<void>(written);  // is_frozen() says whether it helped
}

void Cage::thaw() {
  const std::string_view text = version_1_freezer_ ? "THAWED" : "0";
  const ssize_t written = pwrite(freeze_.get(), text.data(), text.size(), 0);
  static_cast<void>(written);
}

bool Cage::is_frozen() const {
  const std::string text = read_now(frozen_.get());
  return text.find(version_1_freezer_ ? "FROZEN" : "frozen 1") != std::string::npos;
}

std::int64_t Cage::memory_kill_count() const {
  return memory_kills_ ? number_after(read_now(memory_kills_.get()), "oom_kill").value_or(0) : 0;
}

std::optional<std::int64_t> Cage::cpu_ns() const {
  if (!cpu_time_) return std::nullopt;
  const std::string text = read_now(cpu_time_.get());
  if (!cpu_time_is_stat_) return std::strtoll(text.c_str(), nullptr, 10);
  const std::optional<std::int64_t> microseconds = number_after(text, "usage_usec");
  if (!microseconds) return std::nullopt;
  return 1000 * *microseconds;
}

void Cage::kill() const {
  for (const Folder& folder : folders_) kill_cage(folder.path);
}

void kill_cage(const fs::path& folder) {
  // One write where the kernel (5.14) has it; it also reaches who is just being forked.
  if (put(folder / "cgroup.kill", "1")) return;
  put(folder / "freezer.state", "THAWED");
  put(folder / "cgroup.freeze", "0");
  std::istringstream numbers(text_of(folder / "cgroup.procs"));
  for (pid_t pid = 0; numbers >> pid;) {
    if (pid > 1 && pid != getpid()) ::kill(pid, SIGKILL);
  }
}

bool remove_cage(const fs::path& folder) {
  const auto deadline = std::chrono::steady_clock::now() + kRemovalPatience;
  while (rmdir(folder.c_str()) != 0) {
    if (errno == ENOENT) return true;
    if (errno != EBUSY || std::chrono::steady_clock::now() > deadline) return false;
    kill_cage(folder);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace thresher::referee
