// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "referee/sandbox/census.hpp"
#include "referee/sandbox/closed_folder.hpp"
#include "referee/sandbox/launcher.hpp"
#include "referee/sandbox/leftovers.hpp"
#include "referee/venue.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

constexpr std::size_t kErrorBytesKept = std::size_t{16} << 10;
constexpr auto kEndingGrace = std::chrono::seconds(2);
constexpr auto kSpinTime = std::chrono::microseconds(30);
constexpr auto kLookAgain = std::chrono::microseconds(50);

// The launcher and the keeper are inside as well (launcher.hpp).
constexpr std::int64_t kOurProcesses = 2;

// Whose driver reserves all addresses there are still has no use for more memory than this.
constexpr std::int64_t kMemoryOfDriver = std::int64_t{32} << 30;

std::int64_t memory_limit_of(const WorkOrder& order) {
#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
  return 0;
#endif
  if (order.confinement.is_operators) return 0;
  const bool has_driver = venue_of(order.job.backend).sandbox.no_memory_limit != nullptr;
  return order.limits.memory_bytes + (has_driver ? kMemoryOfDriver : 0);
}

[[noreturn]] void refuse(const char* step, int error) {
  throw Error(fmt::format("cannot start a contestant: {}: {}", step, std::strerror(error)));
}

struct Ends {
  UniqueFd ours;
  UniqueFd theirs;
};

// The child's descriptors are put in place one after the other, so none may already lie there.
UniqueFd out_of_the_way(int fd) {
  const UniqueFd low(fd);
  UniqueFd high(fcntl(fd, F_DUPFD_CLOEXEC, kControlFd + 1));
  if (!high) refuse("fcntl", errno);
  return high;
}

Ends make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) refuse("pipe", errno);
  return {out_of_the_way(fds[0]), out_of_the_way(fds[1])};
}

// A pipe would raise SIGPIPE here when the contestant is gone; a socket can be told not to.
Ends make_socket() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) refuse("socketpair", errno);
  return {out_of_the_way(fds[0]), out_of_the_way(fds[1])};
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

// What is there, at most a buffer full; empty at the end of the stream.
std::string read_some(int fd) {
  char buffer[1 << 14];
  ssize_t count = 0;
  do {
    count = read(fd, buffer, sizeof buffer);
  } while (count < 0 && errno == EINTR);
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

// What each end usually means, for who wrote the contestant.
std::string_view meaning_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return ": it used memory that is not its own";
    case SIGBUS:
      return ": it used memory that is not there, or not aligned";
    case SIGFPE:
      return ": a division by zero, or a number that does not fit";
    case SIGILL:
      return ": an instruction that this CPU does not have";
    case SIGABRT:
      return ": it gave up, or an assertion of its own failed";
    case SIGKILL:
      return ": by the system for want of memory, or by somebody";
    case SIGXCPU:
      return ": it used up its CPU seconds";
    case SIGXFSZ:
      return ": it wrote a larger file than it may";
    case SIGSYS:
      return ": a system call that the sandbox forbids";
    default:
      return "";
  }
}

// Of long texts the end: what went wrong stands last, as in Python's.
std::string quoted_end(const std::string& errors) {
  if (errors.size() <= kReplyTextMax) return printable(errors);
  return "..." + printable(std::string_view(errors).substr(errors.size() - kReplyTextMax + 3));
}

// posix_spawn's two kinds of options, freed on every path.
struct SpawnOptions {
  SpawnOptions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
  ~SpawnOptions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  void give(int fd, int as_fd) {
    if (fd >= 0) {
      posix_spawn_file_actions_adddup2(&actions, fd, as_fd);
    } else {
      posix_spawn_file_actions_addopen(&actions, as_fd, "/dev/null", O_RDONLY, 0);
    }
  }

  // Its own session, so that the operator's terminal is not its own: whoever has one may change its
  // settings, and on many kernels type into it. And the signals as a fresh program expects them.
  void set_process() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// Beside what numbers GPUs, what our program may need to begin at all. A contestant that is called
// in it finds the whole environment that it was started with in its own memory, and in its
// /proc/self/environ: nothing of the operator's may be there, whatever is taken out later.
class FirstEnvironment {
 public:
  FirstEnvironment() {
    keep("LD_LIBRARY_PATH");
    for (const char* name : kGpuNumbering) keep(name);
#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
    for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) keep(name);
#endif
    for (std::string& variable : variables_) pointers_.push_back(variable.data());
    pointers_.push_back(nullptr);
  }

  char* const* pointers() { return pointers_.data(); }

 private:
  void keep(const char* name) {
    const char* value = std::getenv(name);
    if (value != nullptr) variables_.push_back(fmt::format("{}={}", name, value));
  }

  std::vector<std::string> variables_;
  std::vector<char*> pointers_;
};

// A process is born with the cores of the thread that makes it: bound from the beginning, without
// a moment in which it could already have started threads elsewhere.
class BoundToCores {
 public:
  explicit BoundToCores(const std::vector<int>& cores) {
    if (cores.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int core : cores) CPU_SET(core, &wanted);
    bound_ = sched_setaffinity(0, sizeof wanted, &wanted) == 0;
  }
  BoundToCores(const BoundToCores&) = delete;
  BoundToCores& operator=(const BoundToCores&) = delete;
  ~BoundToCores() {
    if (bound_) sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_;
  bool bound_ = false;
};

}  // namespace

Child::Child(ChildOptions options)
    : cores_(options.cores), memory_bytes_max_(memory_limit_of(options.order)) {
  WorkOrder& order = options.order;
  Refusals refusals(order.confinement.without);
  const bool freezes = !refusals.leaves_out(layer::kFreezer);
  const bool limits = !refusals.leaves_out(layer::kMemoryOfAll) && memory_bytes_max_ > 0;
  const bool binds = !refusals.leaves_out(layer::kBoundCores);
  CageRoots roots = freezes || limits || binds ? find_cage_roots() : CageRoots{};
  if (!freezes) roots = {.memory = roots.memory, .cpuset = roots.cpuset};
  cage_ = std::make_unique<Cage>(CageLimits{.memory_bytes = limits ? memory_bytes_max_ : 0,
                                            .cores = binds ? cores_ : std::vector<int>(),
                                            .processes = order.limits.processes + kOurProcesses},
                                 roots);
  const auto add = [&](const char* name, const std::string& why) {
    if (!why.empty() && !refusals.contains(name)) refusals.add(name, why);
  };
  add(layer::kFreezer, cage_->why_no_freezer());
  add(layer::kMemoryOfAll,
      memory_bytes_max_ > 0 ? cage_->why_no_memory_limit() : "this build has a sanitizer");
  add(layer::kBoundCores, cage_->why_no_cores());
  refusals_ = refusals.texts();
  order.referee_pid = getpid();
  order.doors = cage_->doors();
  order.memory_is_counted = memory_bytes_max_ > 0 && !cage_->limits_memory();
  order.processes_are_caged = cage_->limits_processes();
  spawn(options);
}

void Child::spawn(const ChildOptions& options) {
  Ends input = make_socket();
  Ends output = make_pipe();
  Ends errors = make_pipe();
  Ends control = make_pipe();
  const UniqueFd arenas[] = {
      UniqueFd(options.input_fd < 0 ? -1
                                    : fcntl(options.input_fd, F_DUPFD_CLOEXEC, kControlFd + 1)),
      UniqueFd(options.output_fd < 0 ? -1
                                     : fcntl(options.output_fd, F_DUPFD_CLOEXEC, kControlFd + 1))};
  SpawnOptions spawn_options;
  spawn_options.give(input.theirs.get(), STDIN_FILENO);
  spawn_options.give(output.theirs.get(), STDOUT_FILENO);
  spawn_options.give(errors.theirs.get(), STDERR_FILENO);
  spawn_options.give(arenas[0].get(), kInputFd);
  spawn_options.give(arenas[1].get(), kOutputFd);
  spawn_options.give(control.theirs.get(), kControlFd);
  spawn_options.set_process();

  const std::string program = options.program.empty() ? "/proc/self/exe" : options.program.string();
  std::string name = "thresher";
  std::string verb = "worker";
  std::string order = to_text(options.order);
  char* arguments[] = {name.data(), verb.data(), order.data(), nullptr};
  FirstEnvironment environment;
  const bool is_operators = options.order.confinement.is_operators;
  const BoundToCores bound(options.cores);
  const int error =
      posix_spawn(&pid_, program.c_str(), &spawn_options.actions, &spawn_options.attributes,
                  arguments, is_operators ? environ : environment.pointers());
  if (error == EACCES && !why_kept_out(program).empty()) {
    throw Error(fmt::format("cannot start a contestant: {}: {}", program, why_kept_out(program)));
  }
  if (error != 0) refuse(program.c_str(), error);
  remember(Leftover::kGroup, fmt::format("{}", pid_));
  stdin_ = std::move(input.ours);
  stdout_ = std::move(output.ours);
  stderr_ = std::move(errors.ours);
  control_ = std::move(control.ours);
}

Child::~Child() { kill(); }

void Child::kill() {
  if (pid_ < 0) return;
  cage_->kill();
  signal_group(SIGKILL);
  // The pipe ends when the last process that holds it has gone: nothing of this contestant shall
  // still be running when the next one is timed.
  const Clock::time_point deadline = Clock::now() + kEndingGrace;
  while (stdout_ && listen(deadline)) {
  }
  // Forgotten first: once it has been waited for, its number may be another's.
  forget(Leftover::kGroup, fmt::format("{}", pid_));
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Child::signal_group(int signal) const {
  if (pid_ > 0) ::kill(-pid_, signal);
}

void Child::stop() {
  if (freezes()) {
    cage_->freeze();
  } else {
    signal_group(SIGSTOP);
  }
}

void Child::resume() {
  if (freezes()) {
    cage_->thaw();
  } else {
    signal_group(SIGCONT);
  }
}

// The launcher cannot rest while its child is being ended, and then it is no news.
bool Child::has_settled() const {
  return freezes() ? cage_->is_frozen() : pid_ < 0 || take_census(pid_).all_stopped;
}

bool Child::settle(Clock::time_point deadline) const {
  // Whoever computes stops within microseconds; then there is no sleeping that short.
  const Clock::time_point begin = Clock::now();
  while (!has_settled()) {
    const Clock::time_point now = Clock::now();
    if (now > deadline) return false;
    if (now - begin > kSpinTime) std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

ChildUse Child::use() const {
  ChildUse use;
  const std::optional<std::int64_t> counted = caged_ ? cage_->cpu_ns() : std::nullopt;
  const bool limited = caged_ && cage_->limits_memory();
  const bool bound = cores_.empty() || (caged_ && cage_->binds_cores());
  if (!freezes() || !counted || !limited || !bound) {
    const Census census = take_census(pid_, cores_);
    use = {.cpu_ns = census.cpu_ns,
           .memory_bytes = limited ? 0 : census.memory_bytes,
           .written_bytes = census.written_bytes,
           .bound = bound || census.all_bound};
  }
  if (counted) use.cpu_ns = *counted;
  return use;
}

bool Child::send(const std::string& line) {
  const ssize_t sent = ::send(stdin_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(line.size());
}

bool Child::wait_until_started(Clock::time_point deadline) {
  while (!started_ && !has_ended() && control_) {
    if (!listen(deadline)) break;
  }
  return started_ && failure_.empty();
}

bool Child::listen(Clock::time_point deadline) {
  // poll() skips negative descriptors: streams that have ended.
  pollfd streams[] = {
      {stdout_.get(), POLLIN, 0}, {stderr_.get(), POLLIN, 0}, {control_.get(), POLLIN, 0}};
  const int ready = poll(streams, 3, milliseconds_until(deadline));
  if (ready == 0) return false;
  if (ready < 0) return errno == EINTR;
  if (streams[0].revents != 0) read_output();
  if (streams[1].revents != 0) read_errors();
  if (streams[2].revents != 0) read_control();
  return true;
}

void Child::read_output() {
  const std::string bytes = read_some(stdout_.get());
  last_read_ = Clock::now();
  if (bytes.empty()) stdout_.close();
  lines_.feed(bytes);
}

void Child::read_errors() {
  const std::string bytes = read_some(stderr_.get());
  if (bytes.empty()) stderr_.close();
  error_bytes_ += bytes.size();
  errors_ += std::string_view(bytes).substr(0, kErrorBytesKept - errors_.size());
}

void Child::read_control() {
  const std::string bytes = read_some(control_.get());
  if (bytes.empty()) control_.close();
  control_lines_.feed(bytes);
  while (const std::optional<std::string> line = control_lines_.next_line()) {
    const std::string_view text = *line;
    if (text == "started") started_ = true;
    if (text.starts_with("refused ")) refusals_.emplace_back(text.substr(8));
    if (text.starts_with("uncaged ")) {
      caged_ = false;
      for (const char* name : {layer::kFreezer, layer::kMemoryOfAll, layer::kBoundCores}) {
        refusals_.push_back(fmt::format("{}: {}", name, text.substr(8)));
      }
    }
    if (text.starts_with("failed ")) failure_ = text.substr(7);
    if (text.starts_with("exit ") || text.starts_with("signal ")) ending_ = text;
  }
}

Answer Child::await_line(Clock::time_point deadline) {
  while (true) {
    if (std::optional<std::string> line = lines_.next_line()) {
      return {Heard::kLine, std::move(*line), last_read_};
    }
    if (lines_.overlong()) return {Heard::kOverlong, {}, last_read_};
    if (error_bytes_ > kErrorBytesMax) return {Heard::kFlood, {}, last_read_};
    if (!stdout_) break;
    if (!listen(deadline)) return {Heard::kTimeout, {}, Clock::now()};
  }
  wait_for_end(Clock::now() + kEndingGrace);
  return {Heard::kEnded, {}, last_read_};
}

// The end of a stream is nothing that was said: whoever has ended is found out when asked.
bool Child::has_spoken() {
  pollfd stream = {stdout_.get(), POLLIN, 0};
  return !lines_.empty() || (poll(&stream, 1, 0) > 0 && (stream.revents & POLLIN) != 0);
}

std::string Child::unasked() {
  pollfd stream = {stdout_.get(), POLLIN, 0};
  if (lines_.empty() && poll(&stream, 1, 0) > 0) read_output();
  return lines_.next_line().value_or(std::string());
}

bool Child::wait_for_end(Clock::time_point deadline) {
  while (control_) {
    if (!listen(deadline)) return false;
  }
  return true;
}

std::string Child::describe_end() const {
  std::string text;
  if (!failure_.empty()) {
    text = failure_;
  } else if (ending_.starts_with("signal ")) {
    const int number = std::stoi(ending_.substr(7));
    text =
        fmt::format("was ended by signal {} ({}{})", number, strsignal(number), meaning_of(number));
  } else if (ending_.starts_with("exit ")) {
    text = fmt::format("ended with exit code {}", ending_.substr(5));
  } else {
    text = "closed its stdout or was killed with its keeper";
  }
  if (!errors_.empty()) text += fmt::format("; stderr: {}", quoted_end(errors_));
  return text;
}

}  // namespace thresher::referee
