// SPDX-License-Identifier: Apache-2.0
// What the sandbox keeps from a program, with a shell as the program. A layer that this machine
// does not grant is skipped, and the refusal is what is tested then: it has a name.
#include "referee/sandbox/sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "referee/sandbox/child.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/timing/contestant_process.hpp"

namespace thresher::referee {
namespace {

using namespace std::chrono_literals;

const std::filesystem::path kProgram = THRESHER_BINARY_DIR "/thresher";

class Sandbox : public ::testing::Test {
 protected:
  Child start(const std::string& script, SandboxLimits limits = {}) {
    return Child(
        {.program = kProgram,
         .order = {
             .job = {.kind = JobKind::kCommand, .command = {"sh", "-c", script}, .folder = "/"},
             .limits = limits,
             .scratch = scratch_.path()}});
  }

  // The first line it prints.
  std::string said(const std::string& script, SandboxLimits limits = {}) {
    Child child = start(script, limits);
    EXPECT_TRUE(child.wait_until_started(Clock::now() + 10s)) << child.describe_end();
    const Answer answer = child.await_line(Clock::now() + 10s);
    return answer.heard == Heard::kLine ? answer.line : child.describe_end();
  }

  static bool granted(const char* layer_name) {
    static const std::vector<Protection> protections = probe_protections(kProgram);
    return std::any_of(protections.begin(), protections.end(),
                       [&](const Protection& one) { return one.name == layer_name && one.ok; });
  }

  const ScratchFolder scratch_{FolderOwner::kContestant};
};

#define REQUIRE_LAYER(name) \
  if (!granted(name)) GTEST_SKIP() << "this machine does not grant: " << name

TEST_F(Sandbox, DoctorSeesEveryLayer) {
  const std::vector<Protection> protections = probe_protections(kProgram);
  EXPECT_EQ(protections.size(), 16u);
  for (const Protection& one : protections) EXPECT_EQ(one.ok, one.why_not.empty()) << one.name;
}

TEST_F(Sandbox, EnvironmentIsClean) {
  setenv("THRESHER_SECRET", "x", 1);
  EXPECT_EQ(said("echo ${THRESHER_SECRET-clean} $HOME"), "clean " + scratch_.path().string());
}

// His own program has his environment and his rights; it is stopped and ended all the same.
TEST_F(Sandbox, IsNotAroundTheOperatorsPrograms) {
  setenv("THRESHER_SECRET", "x", 1);
  const std::string script =
      "sleep 1000 & echo $! ${THRESHER_SECRET-clean} $(id -u) $(ulimit -v); read line; echo $line";
  Child child(
      {.program = kProgram,
       .order = {.job = {.kind = JobKind::kCommand, .command = {"sh", "-c", script}, .folder = "/"},
                 .scratch = scratch_.path(),
                 .confinement = {.is_operators = true}}});
  ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s)) << child.describe_end();
  const Answer answer = child.await_line(Clock::now() + 10s);
  ASSERT_EQ(answer.heard, Heard::kLine) << child.describe_end();
  const std::string rest = answer.line.substr(answer.line.find(' ') + 1);
  EXPECT_EQ(rest, fmt::format("x {} unlimited", getuid()));
  const pid_t sleeper = std::stoi(answer.line);
  EXPECT_EQ(::kill(sleeper, 0), 0) << "it is in our own process namespace";
  child.stop();
  EXPECT_TRUE(child.settle(Clock::now() + 10s));
  child.resume();
  child.send("on\n");
  EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "on");
  child.kill();
  for (int i = 0; i < 100 && ::kill(sleeper, 0) == 0; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_NE(::kill(sleeper, 0), 0) << "what it started outlives it";
}

// "gpu:1" is the same GPU to the referee and to the contestant, whatever a scheduler has hidden.
TEST_F(Sandbox, SeesTheGpusThatTheRefereeSees) {
  const std::string numbers = "echo \"${CUDA_VISIBLE_DEVICES-all}\" ${CUDA_DEVICE_ORDER-any}";
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("CUDA_DEVICE_ORDER");
  EXPECT_EQ(said(numbers), "all any");
  setenv("CUDA_VISIBLE_DEVICES", "3,5", 1);
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  EXPECT_EQ(said(numbers), "3,5 PCI_BUS_ID");
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(said(numbers), " PCI_BUS_ID") << "none is not all";
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("CUDA_DEVICE_ORDER");
}

TEST_F(Sandbox, IsNeverRoot) {
  EXPECT_EQ(said("id -u"), std::to_string(geteuid() == 0 ? kUnprivilegedId : geteuid()));
}

TEST_F(Sandbox, HasNoCapabilities) {
  EXPECT_EQ(said("grep CapEff /proc/self/status"), "CapEff:\t0000000000000000");
}

TEST_F(Sandbox, InheritsNothingButItsStreams) {
  // The shell's own tests: another process may not look into its descriptors.
  EXPECT_EQ(said("for fd in 0 1 2 3 4 5 6 7 8 9 10 11 12 63 255; do"
                 " [ -e /proc/self/fd/$fd ] && printf '%s ' $fd; done; echo"),
            "0 1 2 3 4 ");
}

TEST_F(Sandbox, WritesOnlyToItsScratchFolder) {
  REQUIRE_LAYER(layer::kWriteProtection);
  EXPECT_EQ(said("echo x > $HOME/a && cat $HOME/a"), "x");
  for (const char* path : {"/tmp/thresher-escape", "/dev/shm/thresher-escape"}) {
    EXPECT_EQ(said(fmt::format("(echo x > {}) 2>/dev/null || echo refused", path)), "refused");
  }
  EXPECT_EQ(said("echo x > /dev/null && echo fine"), "fine");
}

TEST_F(Sandbox, HasNoNetwork) {
  REQUIRE_LAYER(layer::kNetworkNamespace);
  EXPECT_EQ(said("grep -c : /proc/net/dev"), "1");  // the loopback, which is down
}

TEST_F(Sandbox, SeesOnlyItsOwnProcesses) {
  REQUIRE_LAYER(layer::kProcessNamespace);
  EXPECT_EQ(said(fmt::format("kill -9 {} 2>/dev/null || echo no such process", getpid())),
            "no such process");
}

TEST_F(Sandbox, LimitsHold) {
  EXPECT_EQ(said("ulimit -n; ulimit -c", {.open_files = 32}), "32");
  EXPECT_EQ(said("ulimit -t", {.cpu_seconds = 17}), "17");
  // In bytes. A kernel that hands core dumps to a program starts it for 0, and not for 1.
  EXPECT_EQ(said("set -- $(grep 'Max core file size' /proc/self/limits); echo $5 $6"), "1 1");
  if (granted(layer::kMemoryLimit)) {
    const SandboxLimits gibibyte{.memory_bytes = std::int64_t{1} << 30};
    EXPECT_EQ(said("ulimit -d", gibibyte), "1048576");
    EXPECT_EQ(said("ulimit -v", gibibyte), std::to_string(1048576 + (kMappedBytesMax >> 10)));
  }
}

TEST_F(Sandbox, ForksOnlySoOften) {
  REQUIRE_LAYER(layer::kProcessLimit);
  const std::string script =
      "i=0; while [ $i -lt 60 ]; do sleep 100 & i=$((i+1)); done 2>/dev/null; echo $i";
  EXPECT_NE(said(script, {.processes = 30}), "60");
}

TEST_F(Sandbox, TheLimitOnProcessesCountsOnlyItsOwn) {
  REQUIRE_LAYER(layer::kUserNamespace);
  Child other = start("for i in 1 2 3 4 5 6 7 8; do sleep 100 & done; echo up; wait");
  ASSERT_TRUE(other.wait_until_started(Clock::now() + 10s));
  EXPECT_EQ(other.await_line(Clock::now() + 10s).line, "up");
  EXPECT_EQ(said("sleep 0 && echo fine", {.processes = 6}), "fine");
}

TEST_F(Sandbox, StopsAndGoesOn) {
  Child child = start("while :; do echo x; done");
  ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s));
  EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "x");
  child.stop();
  std::this_thread::sleep_for(20ms);
  while (child.has_spoken()) child.await_line(Clock::now() + 1ms);
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(child.has_spoken());
  child.resume();
  EXPECT_EQ(child.await_line(Clock::now() + 10s).heard, Heard::kLine);
}

// Command lines of all processes; the marked ones are ours.
int count_processes(const std::string& mark) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stream(entry.path() / "cmdline", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    count += text.starts_with("sleep") && text.find(mark) != std::string::npos;
  }
  return count;
}

TEST_F(Sandbox, NothingItStartedOutlivesIt) {
  const std::string mark = fmt::format("7{:06}", getpid());
  {
    Child child = start(fmt::format("sleep {0} & (sleep {0} &) ; echo up; wait", mark));
    ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s));
    EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "up");
    // "up" may come before the shell's children have become what they were started as.
    const auto deadline = Clock::now() + 10s;
    while (count_processes(mark) < 2 && Clock::now() < deadline) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(count_processes(mark), 2);
  }
  EXPECT_EQ(count_processes(mark), 0);
}

TEST_F(Sandbox, SaysHowItEnded) {
  Child child = start("echo last words >&2; exit 3");
  EXPECT_TRUE(child.wait_until_started(Clock::now() + 10s));
  EXPECT_EQ(child.await_line(Clock::now() + 10s).heard, Heard::kEnded);
  EXPECT_FALSE(child.succeeded());
  EXPECT_EQ(child.describe_end(), "ended with exit code 3; stderr: last words ");

  Child killed = start("kill -SEGV $$");
  EXPECT_TRUE(killed.wait_until_started(Clock::now() + 10s));
  EXPECT_EQ(killed.await_line(Clock::now() + 10s).heard, Heard::kEnded);
  EXPECT_EQ(killed.describe_end(),
            "was ended by signal 11 (Segmentation fault: it used memory that is not its own)");
}

TEST_F(Sandbox, SaysWhyItCannotStart) {
  Child child(
      {.program = kProgram,
       .order = {.job = {.kind = JobKind::kCommand, .command = {"no-such-program"}, .folder = "/"},
                 .scratch = scratch_.path()}});
  child.wait_until_started(Clock::now() + 10s);
  EXPECT_EQ(child.await_line(Clock::now() + 10s).heard, Heard::kEnded);
  EXPECT_NE(child.describe_end().find("cannot run no-such-program: No such file or directory"),
            std::string::npos)
      << child.describe_end();
}

TEST_F(Sandbox, TimesOut) {
  Child child = start("sleep 100");
  ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s));
  EXPECT_EQ(child.await_line(Clock::now() + 50ms).heard, Heard::kTimeout);
}

// Whoever could not be stopped would show here: in user mode, in a system call that takes long, and
// in a process that was just forked; with the freezer and without.
TEST_F(Sandbox, StoppedMeansStopped) {
  for (const std::vector<std::string>& without : {std::vector<std::string>{},
                                                  {layer::kFreezer},
                                                  {layer::kFreezer, layer::kProcessNamespace}}) {
    Child child({.program = kProgram,
                 .order = {.job = {.kind = JobKind::kCommand,
                                   .command = {"sh", "-c",
                                               "echo up; while :; do :; done & while :; do "
                                               "head -c 50000000 /dev/zero | tail -c 50000000 "
                                               ">/dev/null; done"},
                                   .folder = "/"},
                           .scratch = scratch_.path(),
                           .confinement = {.without = without}}});
    ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s));
    EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "up");
    std::int64_t busy_ns = 0;
    for (int i = 0; i < 5; ++i) {
      child.stop();
      ASSERT_TRUE(child.settle(Clock::now() + 10s));
      std::this_thread::sleep_for(2ms);
      const std::int64_t before = child.use().cpu_ns;
      std::this_thread::sleep_for(30ms);
      EXPECT_LT(child.use().cpu_ns - before, 1'000'000);
      child.resume();
      std::this_thread::sleep_for(30ms);
      busy_ns += child.use().cpu_ns - before;
    }
    EXPECT_GT(busy_ns, 5'000'000) << "it was never busy";
  }
}

// The weaker way: who is woken by a signal is found out by what it has used.
TEST_F(Sandbox, WhoeverIsWokenIsFoundOut) {
  const std::vector<std::string> without = {layer::kFreezer, layer::kProcessNamespace,
                                            layer::kPrivateFiles};
  ContestantProcess process(
      {.program = kProgram,
       .order = {.job = {.kind = JobKind::kCommand,
                         .command = {"sh", "-c",
                                     "echo $$ >$HOME/pid; while :; do :; done & while read line; "
                                     "do echo hello 1; done"},
                         .folder = "/"},
                 .scratch = scratch_.path(),
                 .confinement = {.without = without}}},
      {.call_timeout_seconds = 10});
  ASSERT_FALSE(process.start(4096, 4096));
  std::this_thread::sleep_for(20ms);
  const std::optional<Fault> slept = process.find_sleepwalk();
  EXPECT_FALSE(slept) << slept->reason;
  pid_t pid = 0;
  std::ifstream(scratch_.path() / "pid") >> pid;
  ASSERT_GT(pid, 1);
  ::kill(-getpgid(pid), SIGCONT);
  std::this_thread::sleep_for(100ms);
  const std::optional<Fault> fault = process.find_sleepwalk();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, check::kStopped);
  EXPECT_NE(fault->reason.find("while it was stopped"), std::string::npos) << fault->reason;
}

// A process whose terminal this is, as the operator's is the shell's.
int at_a_terminal(const std::function<bool()>& holds) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    const int mine = open(ptsname(terminal), O_RDWR | O_CLOEXEC);
    if (mine < 0 || ioctl(mine, TIOCSCTTY, 0) != 0) _exit(2);
    _exit(holds() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  close(terminal);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Sandbox, HasNoTerminal) {
  const auto opens_it = [] { return UniqueFd(open("/dev/tty", O_RDONLY | O_CLOEXEC)).get() >= 0; };
  if (at_a_terminal(opens_it) != 0) GTEST_SKIP() << "nobody has a terminal here";
  EXPECT_EQ(at_a_terminal([&] {
              return said("(exec </dev/tty) 2>/dev/null && echo mine || echo none") == "none";
            }),
            0);
}

TEST_F(Sandbox, SpeaksToNoDevice) {
  REQUIRE_LAYER(layer::kWriteProtection);
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) < 5) GTEST_SKIP() << "needs Linux 6.10";
  const UniqueFd device(open("/dev/ptmx", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  if (!device || isatty(device.get()) == 0) GTEST_SKIP() << "/dev/ptmx cannot be spoken to";
  EXPECT_EQ(said("stty -F /dev/ptmx >/dev/null 2>&1 && echo speaks || echo refused"), "refused");
}

TEST_F(Sandbox, StaysOnItsCores) {
  REQUIRE_LAYER(layer::kBoundCores);
  Child child({.program = kProgram,
               .order = {.job = {.kind = JobKind::kCommand,
                                 .command = {"sh", "-c",
                                             "taskset -pc 0-63 $$ >/dev/null 2>&1; grep "
                                             "Cpus_allowed_list /proc/self/status"},
                                 .folder = "/"},
                         .scratch = scratch_.path()},
               .cores = {0}});
  ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s));
  EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "Cpus_allowed_list:\t0");
}

TEST_F(Sandbox, SeesNeitherHiddenFilesNorOtherProcesses) {
  REQUIRE_LAYER(layer::kPrivateFiles);
  const ScratchFolder operators(FolderOwner::kReferee);
  std::ofstream(operators.path() / "ledger.db") << "secret";
  std::ofstream(operators.path() / "file") << "secret";
  const auto seen = [&](std::filesystem::path hidden, const std::string& script) {
    Child child(
        {.program = kProgram,
         .order = {
             .job = {.kind = JobKind::kCommand, .command = {"sh", "-c", script}, .folder = "/"},
             .scratch = scratch_.path(),
             .confinement = {.hidden = {std::move(hidden)}}}});
    EXPECT_TRUE(child.wait_until_started(Clock::now() + 10s));
    return child.await_line(Clock::now() + 10s).line;
  };
  const std::string folder = operators.path().string();
  EXPECT_EQ(seen(folder, "echo \"$(ls " + folder + " | wc -l)\""), "0");
  EXPECT_EQ(
      seen(folder + "/file", "echo \"$(cat " + folder + "/file)/$(cat " + folder + "/ledger.db)\""),
      "/secret");
  EXPECT_EQ(seen(folder, "echo $(ls -d /proc/[0-9]* | wc -l)").size(), 1u);  // a handful
  // Nothing of it is left outside.
  EXPECT_TRUE(std::filesystem::exists(operators.path() / "ledger.db"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

// A user's file may be called as a folder of ours is: then nothing is below it, and nothing else is
// kept from anybody, whoever hides it.
TEST_F(Sandbox, WhatIsBelowAFileNeedsNoHiding) {
  const ScratchFolder operators(FolderOwner::kReferee);
  std::ofstream(operators.path() / "out") << "a file";
  for (const char* without : {"", layer::kPrivateFiles}) {
    Confinement confinement{.hidden = {operators.path() / "out" / "ledger.db"}};
    if (*without != '\0') confinement.without = {without};
    Child child({.program = kProgram,
                 .order = {.job = {.kind = JobKind::kCommand,
                                   .command = {"sh", "-c", "echo $(ls /usr | wc -l)"},
                                   .folder = "/"},
                           .scratch = scratch_.path(),
                           .confinement = std::move(confinement)}});
    ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s)) << child.describe_end();
    EXPECT_GT(std::stoi("0" + child.await_line(Clock::now() + 10s).line), 1) << without;
    for (const std::string& refused : child.refusals()) {
      EXPECT_EQ(refused.find("mount"), std::string::npos) << refused;
    }
  }
}

TEST_F(Sandbox, FoldersOfTheKilledAreReclaimed) {
  const ScratchFolder root(FolderOwner::kReferee);
  const ScratchFolder alive(FolderOwner::kReferee, root.path());
  const std::filesystem::path orphan = root.path() / "thresher-scratch-orphan";
  std::filesystem::create_directories(orphan / "deep" / "deeper");
  std::filesystem::permissions(orphan / "deep", std::filesystem::perms::none);
  EXPECT_EQ(reclaim_folders(root.path()), 1);
  EXPECT_FALSE(std::filesystem::exists(orphan));
  EXPECT_TRUE(std::filesystem::exists(alive.path()));
}

// Version 1 of the kernel's groups, for machines without version 2.
TEST_F(Sandbox, TheOlderFreezerWillDo) {
  CageRoots roots = find_cage_roots();
  roots.unified.clear();
  if (roots.freezer.empty()) GTEST_SKIP() << "this machine has no such freezer";
  Cage cage({}, roots);
  if (!cage.can_freeze()) GTEST_SKIP() << cage.why_no_freezer();
  const pid_t pid = fork();
  if (pid == 0) {
    for (const std::string& door : cage.doors()) std::ofstream(door) << "0" << std::flush;
    volatile unsigned count = 0;
    while (true) count = count + 1;
  }
  std::this_thread::sleep_for(100ms);
  cage.freeze();
  const auto deadline = Clock::now() + 5s;
  while (!cage.is_frozen() && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(cage.is_frozen());
  const std::int64_t before = cage.cpu_ns().value_or(0);
  EXPECT_GT(before, 0);
  std::this_thread::sleep_for(30ms);
  EXPECT_LT(cage.cpu_ns().value_or(0) - before, 1'000'000);
  cage.kill();  // also who is frozen
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status));
}

class GpuSandbox : public Sandbox {
 protected:
  Child start_on_gpu(const std::string& script, std::vector<std::string> without = {}) {
    return Child({.program = kProgram,
                  .order = {.job = {.kind = JobKind::kCommand,
                                    .command = {"sh", "-c", script},
                                    .folder = "/",
                                    .backend = "gpu"},
                            .scratch = scratch_.path(),
                            .confinement = {.without = without}}});
  }
};

TEST_F(GpuSandbox, NamesWhatCudaDoesNotRunUnder) {
  const std::string why = "process namespace: CUDA does not start in one";
  Child child = start_on_gpu("echo up", {why});
  ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s)) << child.describe_end();
  const std::vector<std::string>& refusals = child.refusals();
  const auto missing = [&](std::string_view text) {
    return std::count(refusals.begin(), refusals.end(), text) == 1;
  };
  EXPECT_TRUE(missing(why));
  EXPECT_TRUE(std::any_of(refusals.begin(), refusals.end(),
                          [](const auto& text) { return text.starts_with("memory limit: "); }));
  EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "up");
}

TEST_F(GpuSandbox, KeepsEverythingElse) {
  REQUIRE_LAYER(layer::kWriteProtection);
  Child child = start_on_gpu(
      "echo x > $HOME/a; (echo x > /tmp/thresher-escape) 2>/dev/null || printf 'refused ';"
      "grep -q '^CapEff:.0000000000000000$' /proc/self/status && printf 'powerless ';"
      "ulimit -v");
  ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s)) << child.describe_end();
  EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "refused powerless unlimited");
}

// With what a driver needs there are fewer layers; these are not among what is missing.
TEST_F(GpuSandbox, ReachesNoFilesOfTheOperators) {
  REQUIRE_LAYER(layer::kSystemCallFilter);
  const std::filesystem::path file = scratch_.path() / "file";
  std::ofstream(file) << "secret";
  // Its own by every right that the kernel knows.
  if (geteuid() == 0) {
    ASSERT_EQ(chown(file.c_str(), kUnprivilegedId, kUnprivilegedId), 0);
  }
  Child child = start_on_gpu(
      fmt::format(
          "for what in 'chmod 600' 'chown 65534' 'touch -d 2001-01-01' 'setfattr -n user.x'; do "
          "$what {} 2>/dev/null && printf \"$what \"; done; echo refused",
          file.string()),
      {layer::kPrivateFiles});
  ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s)) << child.describe_end();
  EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "refused");
}

TEST_F(GpuSandbox, SharesNoMemoryWithAnAccomplice) {
  REQUIRE_LAYER(layer::kPrivateFiles);
  const std::string name = fmt::format("/dev/shm/thresher-word-{}", getpid());
  std::ofstream(name) << "word";
  Child child = start_on_gpu(fmt::format("cat {} 2>/dev/null || echo nothing", name));
  ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s)) << child.describe_end();
  EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "nothing");
  std::filesystem::remove(name);
}

TEST_F(GpuSandbox, NothingItStartedOutlivesIt) {
  const std::string mark = fmt::format("8{:06}", getpid());
  {
    Child child = start_on_gpu(fmt::format("sleep {0} & (sleep {0} &); echo up; wait", mark),
                               {layer::kProcessNamespace, layer::kFreezer});
    ASSERT_TRUE(child.wait_until_started(Clock::now() + 10s));
    EXPECT_EQ(child.await_line(Clock::now() + 10s).line, "up");
  }
  EXPECT_EQ(count_processes(mark), 0);
}

}  // namespace
}  // namespace thresher::referee
