// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "referee/contestant/cuda_compile.hpp"
#include "referee/protocol.hpp"
#include "referee/venue.hpp"
#include "referee/worker/worker.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

void report(const std::string& line) {
  const std::string text = line + '\n';
  // Short enough for a pipe to take it whole; with the referee gone there is nobody to tell.
  const ssize_t written = write(kControlFd, text.data(), text.size());
  static_cast<void>(written);
}

[[noreturn]] void fail(const std::string& why) {
  report("failed " + printable(why));
  _exit(1);
}

void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // The parent may have gone before the line above.
  if (getppid() != parent) _exit(1);
}

// What the contestant talks through must not be held open by those who only wait for it.
void close_conversation() {
  for (int fd = 0; fd <= kOutputFd; ++fd) close(fd);
}

// Everything that is started from here on is inside as well. False: not everywhere.
bool enter_cage(const WorkOrder& order) {
  bool entered_all = true;
  for (const std::string& door : order.doors) {
    const int fd = open(door.c_str(), O_WRONLY | O_CLOEXEC);
    const bool entered = fd >= 0 && write(fd, "0", 1) == 1;
    if (!entered) report(fmt::format("uncaged {}: {}", door, std::strerror(errno)));
    if (fd >= 0) close(fd);
    entered_all = entered_all && entered;
  }
  return entered_all;
}

// A folder that holds what is to run cannot be hidden from it.
std::vector<std::filesystem::path> hidden_of(const WorkOrder& order, Refusals& refusals) {
  std::vector<std::filesystem::path> hidden;
  for (const std::filesystem::path& path : order.confinement.hidden) {
    const std::string inside = (order.job.folder / "").lexically_normal().string();
    const bool holds_it = inside.starts_with((path / "").lexically_normal().string());
    if (holds_it) {
      refusals.add(layer::kHiddenFiles, fmt::format("{} holds the contestant", path.string()));
    } else {
      hidden.push_back(path);
    }
  }
  return hidden;
}

pid_t fork_or_fail() {
  const pid_t pid = fork();
  if (pid < 0) fail(fmt::format("fork: {}", std::strerror(errno)));
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (true) {
    const pid_t ended = wait(&status);
    if (ended == pid) return status;
    // Orphans of the contestant come and go; only that there is no child left cannot happen.
    if (ended < 0 && errno == ECHILD) return 0;
  }
}

[[noreturn]] void keep(pid_t contestant) {
  close_conversation();
  const int status = wait_for(contestant);
  report(WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit {}", WEXITSTATUS(status)));
  _exit(0);
}

// Nothing else of the operator's environment; what programs expect to find, in the scratch folder.
void clean_environment(const std::filesystem::path& scratch) {
  std::vector<std::pair<const char*, std::string>> kept;
  for (const char* name : kGpuNumbering) {
    if (const char* value = std::getenv(name)) kept.emplace_back(name, value);
  }
  clearenv();
  for (const auto& [name, value] : kept) setenv(name, value.c_str(), 1);
  setenv("PATH", kSandboxPath, 1);
  setenv("LANG", "C.UTF-8", 1);
  for (const char* name : {"HOME", "TMPDIR"}) setenv(name, scratch.c_str(), 1);
}

// The first to go should memory run out: the machine belongs to the operator.
void volunteer_for_memory_killer() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t written = write(fd, "1000", 4);
  static_cast<void>(written);
  close(fd);
}

[[noreturn]] void become(const Job& job) {
  if (chdir(job.folder.c_str()) != 0) {
    fail(fmt::format("user {} cannot enter {}: {}", geteuid(), job.folder.string(),
                     std::strerror(errno)));
  }
  std::vector<char*> arguments;
  for (const std::string& argument : job.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
  report("started");
  execvp(arguments[0], arguments.data());
  fail(fmt::format("user {} cannot run {}: {}", geteuid(), job.command[0], std::strerror(errno)));
}

[[noreturn]] void be_contestant(const WorkOrder& order, const FileRules& files,
                                const FilterOptions& filter, Refusals refusals) {
  volunteer_for_memory_killer();
  clean_environment(order.scratch);
  const std::size_t known_count = refusals.texts().size();
  forbid_new_privileges(refusals);
  const SandboxNeeds& needs = venue_of(order.job.backend).sandbox;
  forbid_writes_outside(files, needs, refusals);
  filter_system_calls(filter, needs, refusals);
  for (std::size_t i = known_count; i < refusals.texts().size(); ++i) {
    report("refused " + refusals.texts()[i]);
  }
  close_range(kControlFd + 1, ~0u, 0);
  if (order.job.kind == JobKind::kCommand) become(order.job);
  report("started");
  close(kControlFd);
  if (order.job.kind == JobKind::kCompile) _exit(compile_cuda(order.job));
  if (order.job.kind != JobKind::kProbe) serve(order.job);
  _exit(0);
}

// Only what ends it with all that it has started.
[[noreturn]] void launch_operators_program(const Job& job) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const pid_t keeper = getpid();
  if (const pid_t program = fork_or_fail(); program != 0) keep(program);
  die_with_parent(keeper);
  close_range(kControlFd + 1, ~0u, 0);
  become(job);
}

}  // namespace

void launch(const WorkOrder& order) {
  const auto referee = static_cast<pid_t>(order.referee_pid);
  die_with_parent(referee);
  const bool caged = enter_cage(order);
  if (order.confinement.is_operators) launch_operators_program(order.job);
  Refusals refusals(order.confinement.without);
  const SandboxNeeds& needs = venue_of(order.job.backend).sandbox;
  const std::vector<std::filesystem::path> hidden = hidden_of(order, refusals);
  enter_namespaces(
      {.hidden = hidden, .scratch = order.scratch, .scratch_in_memory = !order.leaves_files},
      refusals);
  // Who changes users loses the death signal: once more.
  die_with_parent(referee);

  const bool own_process_namespace = !refusals.contains(layer::kProcessNamespace);
  if (own_process_namespace) {
    if (const pid_t keeper = fork_or_fail(); keeper != 0) {
      close_conversation();
      close(kControlFd);
      wait_for(keeper);
      _exit(0);
    }
    // Cannot check for its parent, which is not in its namespace. Should that have gone just now,
    // the referee is left, which kills the group, and the contestant, whose stdin has ended.
    // Never where the files are still everybody's.
    if (!refusals.contains(layer::kPrivateFiles)) show_own_processes_only();
    give_up_rights(refusals);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  } else {
    give_up_rights(refusals);
    die_with_parent(referee);
    // Orphans come to us and stay in sight.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  }
  set_limits(order.limits, needs, order.processes_are_caged && caged, refusals);
  for (const std::string& refusal : refusals.texts()) report("refused " + refusal);
  const pid_t keeper = getpid();
  const pid_t contestant = fork_or_fail();
  if (contestant != 0) keep(contestant);
  die_with_parent(keeper);
  const bool memory_is_counted = order.memory_is_counted || !caged;
  const FilterOptions filter{
      .own_processes_only = !own_process_namespace,
      // A compiler makes what it has linked executable, and runs no code of the contestant's.
      .keeps_attributes = refusals.contains(layer::kPrivateFiles) && !order.leaves_files,
      // A driver that reserves addresses without end may share memory as well.
      .owns_memory = memory_is_counted && needs.no_memory_limit == nullptr};
  FileRules files{.scratch = order.scratch, .readable = order.readable, .hidden = {}};
  if (refusals.contains(layer::kPrivateFiles)) files.hidden = hidden;
  be_contestant(order, files, filter, std::move(refusals));
}

}  // namespace thresher::referee
