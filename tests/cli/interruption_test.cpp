// SPDX-License-Identifier: Apache-2.0
// Commands that are interrupted: what they say, what they leave, how they end.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "child.hpp"
#include "referee/reachable.hpp"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

// It speaks the greeting, and then never again.
constexpr const char* kHangs = R"(
import sys, time
sys.stdin.readline()
print("hello 1", flush=True)
time.sleep(1000)
)";

class Interrupted : public ::testing::Test {
 protected:
  // The binary with these arguments, its temporary files in a folder of ours.
  pid_t start(const std::vector<std::string>& arguments) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setenv("TMPDIR", folder_.path("tmp").c_str(), 1);
    if (chdir(folder_.path("").c_str()) != 0) _exit(99);
    if (std::freopen("out", "w", stdout) == nullptr) _exit(99);
    if (std::freopen("err", "w", stderr) == nullptr) _exit(99);
    const std::string program = THRESHER_BINARY_DIR "/thresher";
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(99);
  }

  // Waits until the contestant hangs: only then its folder has a folder of its own.
  bool wait_for_contestant() const {
    for (int i = 0; i < 3000; ++i) {
      std::error_code error;
      std::size_t count = 0;
      for (const auto& entry : fs::recursive_directory_iterator(folder_.path("tmp"), error)) {
        static_cast<void>(entry);
        ++count;
      }
      if (count >= 3) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  int exit_code_after(pid_t pid, int signal) {
    EXPECT_TRUE(wait_for_contestant()) << folder_.read("err");
    ::kill(pid, signal);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Neither folders nor processes.
  bool is_clean() const {
    std::error_code error;
    for (const fs::directory_entry& process : fs::directory_iterator("/proc", error)) {
      std::ifstream file(process.path() / "cmdline");
      std::string line;  // its words end in zeros; a process may be gone before it is read
      std::getline(file, line);
      if (line.find(script_) != std::string::npos) return false;
    }
    return fs::is_empty(folder_.path("tmp"));
  }

  Interrupted() { fs::create_directories(folder_.path("tmp")); }

  const TemporaryFolder folder_;
  const std::string suite_ = folder_.write("tiny.toml", kTinySuite);
  const std::string script_ = folder_.write("hangs.py", kHangs);
  const std::string pitch_ =
      folder_.write("hangs.toml",
                    "name = \"hangs\"\nsuite = \"tiny.toml\"\nclaim = 2\nmechanism = \"waits\"\n"
                    "[contestant]\ncommand = [\"python3\", \"" +
                        folder_.path("hangs.py") + "\"]\n");
};

TEST_F(Interrupted, MatchSaysSoAndLeavesNothing) {
  fs::permissions(folder_.path(""), fs::perms{0755});
  const pid_t pid = start({"match", "--backend", "cpu", "--suite", suite_, "--threads", "1",
                           "--call-seconds", "600", "--", "python3", script_});
  EXPECT_EQ(exit_code_after(pid, SIGINT), 130) << folder_.read("err") << folder_.read("out");
  EXPECT_TRUE(folder_.read("err").ends_with(
      "thresher: interrupted; a match keeps nothing; the same command starts it anew\n"))
      << folder_.read("err");
  EXPECT_TRUE(is_clean());
}

TEST_F(Interrupted, SeasonSaysHowToGoOnAndGoesOn) {
  fs::permissions(folder_.path(""), fs::perms{0755});
  const std::vector<std::string> season = {
      "season",   "--backend",   "cpu",      "--suite",   suite_,      "--threads", "1",
      "--season", "interrupted", "--ledger", "ledger.db", "--seconds", "20",        pitch_};
  const pid_t pid = start(season);
  EXPECT_EQ(exit_code_after(pid, SIGTERM), 143) << folder_.read("err");
  const std::string said = folder_.read("err");
  const std::string command =
      "thresher season --resume --season interrupted --ledger ledger.db --seconds 20";
  EXPECT_NE(
      said.find("thresher: interrupted; season 'interrupted' is kept as far as it was played, and "
                "this goes on with it: " +
                command + "\n"),
      std::string::npos)
      << said;
  EXPECT_TRUE(is_clean());

  // The command that was printed, from where it was printed, on a contestant that has been mended.
  folder_.write("hangs.py", "raise SystemExit(3)\n");
  std::istringstream printed(command + " --json");
  std::vector<std::string> words{std::istream_iterator<std::string>(printed), {}};
  words.erase(words.begin());
  int status = 0;
  waitpid(start(words), &status, 0);
  ASSERT_EQ(status, 0) << folder_.read("err");
  const nlohmann::json board = nlohmann::json::parse(folder_.read("out"));
  EXPECT_EQ(board["season"], "interrupted");
  EXPECT_TRUE(board["ended"]);
}

// The command that is printed asks for nothing that was not asked for, and runs.
TEST_F(Interrupted, WhatWasNotGivenIsNotPrinted) {
  fs::permissions(folder_.path(""), fs::perms{0755});
  const pid_t pid = start({"season", "--backend", "cpu", "--suite", suite_, "--threads", "1",
                           "--season", "plain", "--ledger", "l.db", pitch_});
  EXPECT_EQ(exit_code_after(pid, SIGINT), 130) << folder_.read("err") << folder_.read("out");
  const std::string said = folder_.read("err");
  EXPECT_TRUE(
      said.ends_with("goes on with it: thresher season --resume --season plain --ledger l.db\n"))
      << said;
  EXPECT_TRUE(is_clean());
}

TEST_F(Interrupted, RoundSaysHowToGoOnAndGoesOn) {
  fs::permissions(folder_.path(""), fs::perms{0755});
  const std::string votes =
      folder_.write("votes.toml",
                    "shark = \"me\"\n[[ballot]]\npitch = \"hangs\"\nvote = true\np_works = 0.5\n"
                    "speedup = 1.1\nspeedup_low = 0.9\nspeedup_high = 1.3\nreason = \"why not\"\n"
                    "scores = {speedup = 3, evidence = 4, feasibility = 9, risk = 6}\n");
  const pid_t pid =
      start({"round", pitch_, "--backend", "cpu", "--suite", suite_, "--threads", "1", "--season",
             "open", "--ledger", "l.db", "--votes", votes, "--match-seconds", "5"});
  EXPECT_EQ(exit_code_after(pid, SIGINT), 130) << folder_.read("err") << folder_.read("out");
  const std::string said = folder_.read("err");
  const std::string command = "thresher round " + pitch_ +
                              " --season open --ledger l.db --match-seconds 5 --votes " + votes;
  EXPECT_TRUE(said.ends_with("goes on with it: " + command + "\n")) << said;
  EXPECT_TRUE(is_clean());

  folder_.write("hangs.py", "raise SystemExit(3)\n");
  std::istringstream printed(command);
  std::vector<std::string> words{std::istream_iterator<std::string>(printed), {}};
  words.erase(words.begin());
  int status = 0;
  waitpid(start(words), &status, 0);
  EXPECT_EQ(status, 0) << folder_.read("err");
  EXPECT_NE(folder_.read("out").find("Season open"), std::string::npos) << folder_.read("out");
}

// The second of two says so when it begins.
TEST_F(Interrupted, TwoAtOnceAreNoticed) {
  fs::permissions(folder_.path(""), fs::perms{0755});
  const pid_t pid = start({"match", "--backend", "cpu", "--suite", suite_, "--threads", "1",
                           "--call-seconds", "600", "--", "python3", script_});
  ASSERT_TRUE(wait_for_contestant()) << folder_.read("err");
  const std::string pitch =
      folder_.write("broken.toml",
                    "name = \"broken\"\nsuite = \"tiny.toml\"\nclaim = 2\nmechanism = \"none\"\n"
                    "[contestant]\nsource = \"broken.c\"\n");
  folder_.write("broken.c", "int broken = ;\n");
  const std::vector<std::vector<std::string>> seconds = {
      {"doctor", "--backend", "cpu", "--seconds", "0.05", "--threads", "1"},
      {"pitch", "check", "--run", pitch},
      {"round", "--backend", "cpu", "--suite", suite_, "--threads", "1", "--seconds", "1",
       "--ledger", folder_.path("second.db"), pitch}};
  for (const std::vector<std::string>& words : seconds) {
    const Outcome second = run_thresher(words);
    EXPECT_NE(second.err.find(fmt::format("thresher: pid {} (", pid)), std::string::npos)
        << words[0] << ": " << second.err;
    EXPECT_NE(second.err.find(" measuring on this machine too"), std::string::npos) << second.err;
  }
  const Outcome quiet = run_thresher({"pitch", "check", pitch});
  EXPECT_EQ(quiet.err.find("measuring"), std::string::npos) << quiet.err;
  EXPECT_EQ(exit_code_after(pid, SIGINT), 130);
}

// A signal that nobody can catch: a second later there is neither a process, a folder nor a group
// of the kernel's, and a season goes on. THRESHER_KILLS=100 sends each signal a hundred times.
class Killed : public Interrupted {
 protected:
  // How often each signal is sent.
  static int kills(int otherwise) {
    const char* text = std::getenv("THRESHER_KILLS");
    return text == nullptr ? otherwise : std::max(1, std::atoi(text));
  }

  // Busy, forking, forking until it may not, stopped, and inside the kernel: each in its turn.
  static std::string contestant(int turn) {
    static constexpr const char* kNames[] = {"burns_while_idle", "forks_and_burns",
                                             "forks_without_end", "stops_itself",
                                             "busy_in_the_kernel"};
    return cheat(kNames[turn % std::size(kNames)]);
  }

  static std::string cheat(const char* name) {
    return fmt::format("{}/tests/cheats/{}.c", testing::reachable_house().string(), name);
  }

  // Everything whose files or folders lie in ours: launchers carry them in their order.
  std::string leftovers() const {
    std::string text;
    std::error_code error;
    for (const fs::directory_entry& process : fs::directory_iterator("/proc", error)) {
      std::ifstream file(process.path() / "cmdline");
      std::string line;  // its words end in zeros; a process may be gone before it is read
      std::getline(file, line);
      if (line.find(folder_.path("tmp")) != std::string::npos)
        text += process.path().string() + " ";
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path("tmp"), error)) {
      text += entry.path().string() + " ";
    }
    return text;
  }

  // The seat of the process, too.
  static std::string cages_of(pid_t pid) {
    std::string text;
    std::error_code error;
    const std::string prefix = fmt::format("thresher-cage-{}-", pid);
    const std::string seat = fmt::format("thresher-seat-{}", pid);
    auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at("/sys/fs/cgroup", options, error), end; at != end;
         at.increment(error)) {
      if (error) break;
      const std::string name = at->path().filename().string();
      if (name.starts_with(prefix) || name == seat) text += at->path().string() + " ";
    }
    return text;
  }

  // A season begins with measuring the machine; before its first entry it has nothing to go on
  // with.
  bool has_entry() const {
    return (folder_.read(ledger_) + folder_.read(ledger_ + "-wal")).find("\"champion_hash\"") !=
           std::string::npos;
  }

  int status_of(const std::vector<std::string>& words) {
    int status = 0;
    waitpid(start(words), &status, 0);
    return status;
  }

  // A hundred take a while.
  static void say_count(const char* what, int turn) {
    if ((turn + 1) % 10 == 0) std::printf("%s killed: %d by each signal\n", what, turn + 1);
    std::fflush(stdout);
  }

  // A second in looks of ten milliseconds; longer where so many others want the cores that whoever
  // clears away gets a part of one only.
  static int patience() {
    double load = 0;
    if (getloadavg(&load, 1) != 1) return 100;
    const double cores = static_cast<double>(std::thread::hardware_concurrency());
    return static_cast<int>(100 * std::max(1.0, load / cores));
  }

  void kill_and_look(const std::vector<std::string>& words, int signal, int milliseconds) {
    const pid_t pid = start(words);
    const bool is_season = words.front() == "season";
    for (int i = 0; i < 6000 && is_season && !has_entry(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(pid, signal);
    int status = 0;
    waitpid(pid, &status, 0);
    const auto look = [&] { return leftovers() + cages_of(pid); };
    std::string left = look();
    for (int i = 0; i < patience() && !left.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      left = look();
    }
    if (left.empty()) return;
    std::this_thread::sleep_for(std::chrono::seconds(10));
    ADD_FAILURE() << "a second after signal " << signal << " at " << milliseconds << " ms: " << left
                  << (look().empty() ? "; gone ten seconds later. " : "; and for good. ")
                  << folder_.read("err");
  }

  std::string ledger_ = "ledger.db";
};

TEST_F(Killed, MatchLeavesNothing) {
  fs::permissions(folder_.path(""), fs::perms{0755});
  int at_ms = 60;
  for (int turn = 0; turn < kills(5); ++turn) {
    for (const int signal : {SIGKILL, SIGTERM}) {
      at_ms = 60 + (at_ms * 37 + 101) % 1400;  // in every phase of a match
      kill_and_look({"match", "--backend", "cpu", "--suite", suite_, "--threads", "1", "--seconds",
                     "20", "--call-seconds", "600", "--challenger", contestant(turn)},
                    signal, at_ms);
    }
    say_count("matches", turn);
  }
}

// Each season is killed, goes on and is killed again; every tenth then goes on to its end.
TEST_F(Killed, SeasonLeavesNothingAndGoesOn) {
  fs::permissions(folder_.path(""), fs::perms{0755});
  for (int turn = 0; turn < kills(1); ++turn) {
    ledger_ = fmt::format("ledger_{}.db", turn);
    const std::string pitch = folder_.write(
        "busy.toml", fmt::format("name = \"busy\"\nsuite = \"tiny.toml\"\nclaim = 2\nmechanism = "
                                 "\"burns\"\n[contestant]\nsource = \"{}\"\n",
                                 contestant(turn + 1)));  // a forking one where it is the only one
    kill_and_look({"season", "--backend", "cpu", "--suite", suite_, "--threads", "1", "--season",
                   "killed", "--ledger", ledger_, "--seconds", "4", pitch},
                  SIGKILL, 100 + (turn * 211) % 1400);
    EXPECT_EQ(status_of({"ledger", "verify", "--ledger", ledger_}), 0) << folder_.read("err");
    const std::vector<std::string> resumed = {"season",          "--resume", "--season",  "killed",
                                              "--ledger",        ledger_,    "--seconds", "4",
                                              "--match-seconds", "2"};
    kill_and_look(resumed, SIGTERM, 100 + (turn * 337) % 1400);
    EXPECT_EQ(status_of({"ledger", "verify", "--ledger", ledger_}), 0) << folder_.read("err");
    if (turn % 10 == 0) {
      EXPECT_EQ(status_of(resumed), 0) << folder_.read("err");
    }
    say_count("seasons", turn);
  }
}

}  // namespace
}  // namespace thresher::cli
