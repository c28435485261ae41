// SPDX-License-Identifier: Apache-2.0
// Cheats against what holds a contestant: being stopped, the means it is granted, the operator's
// files. Each with everything the kernel gives, and again without the layer that met it first: what
// is left then must do.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "cpu/features.hpp"
#include "quick_match.hpp"
#include "referee/fault.hpp"
#include "referee/sandbox/remove_tree.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher {
namespace {

using namespace testing;
namespace check = referee::check;
namespace layer = referee::layer;
namespace fs = std::filesystem;

const std::string kNothingHappened = "run returned 77";

struct ConfinedCheat {
  const char* label;
  const char* file;
  std::vector<std::string> without;
  std::set<std::string> checks;  // any of them; empty: it is held, and may go on
  std::string reason = {};
  int thread_count = 2;
};

std::ostream& operator<<(std::ostream& stream, const ConfinedCheat& cheat) {
  return stream << cheat.label;
}

const std::vector<std::string> kSignalsOnly = {layer::kFreezer, layer::kMemoryOfAll,
                                               layer::kBoundCores};

// clang-format off
const ConfinedCheat kConfinedCheats[] = {
    {"exit_signal", "wakes_by_exit_signal.c", {}, {check::kError}, kNothingHappened},
    {"kernel_work", "queues_kernel_work.c", {}, {check::kError}, kNothingHappened},
    {"kernel_reads", "reads_ahead.c", {}, {check::kError}, kNothingHappened},
    {"kernel_busy", "busy_in_the_kernel.c", {}, {}},
    {"kernel_busy_signals", "busy_in_the_kernel.c", kSignalsOnly, {}},
    {"burning_signals", "burns_while_idle.c", kSignalsOnly, {}},
    {"schedule", "harms_by_schedule.c", {}, {check::kError}, kNothingHappened},
    {"schedule_no_namespace", "harms_by_schedule.c", {layer::kProcessNamespace}, {check::kError}, kNothingHappened},
    {"attack_no_namespace", "attacks_referee.c", {layer::kProcessNamespace}, {check::kError, check::kExit}},
    {"widens", "widens_its_cores.c", {}, {}, {}, 1},
    {"widens_unbound", "widens_its_cores.c", {layer::kBoundCores}, {check::kMeans}, {}, 1},
    {"widens_briefly", "widens_its_cores_briefly.c", {}, {}, {}, 1},
    {"widens_briefly_unbound", "widens_its_cores_briefly.c", {layer::kBoundCores}, {check::kMeans}, "--threads 1 grants", 1},
    {"widens_in_short_calls", "widens_its_cores_in_short_calls.c", {layer::kBoundCores}, {check::kMeans}, "--threads 1 grants", 1},
    {"widens_by_children", "widens_by_children.c", {layer::kBoundCores}, {check::kMeans}, "--threads 1 grants", 1},
    {"widens_by_children_counted", "widens_by_children.c", kSignalsOnly, {check::kMeans}, "--threads 1 grants", 1},
    {"accomplice", "hears_an_accomplice.c", {}, {check::kError}, kNothingHappened},
    {"attributes", "changes_attributes.c", {}, {check::kError}, kNothingHappened},
    {"attributes_shared_files", "changes_attributes.c", {layer::kPrivateFiles}, {check::kError}, kNothingHappened},
    {"looks_around", "looks_around.c", {}, {check::kError}, kNothingHappened},
    {"environment", "reads_the_environment.c", {}, {check::kError}, kNothingHappened},
    {"environment_no_namespace", "reads_the_environment.c", {layer::kProcessNamespace}, {check::kError}, kNothingHappened},
    {"ledger", "reads_the_ledger.c", {}, {check::kError}, kNothingHappened},
    {"ledger_shared_files", "reads_the_ledger.c", {layer::kPrivateFiles}, {check::kError}, kNothingHappened},
    {"traps", "leaves_traps.c", {}, {}},
    {"traps_shared_files", "leaves_traps.c", {layer::kPrivateFiles}, {}},
    {"forks", "forks_and_burns.c", {}, {}},
    {"news", "signals_by_news.c", {}, {check::kError}, kNothingHappened},
    {"news_no_namespace", "signals_by_news.c", {layer::kProcessNamespace}, {check::kError}, kNothingHappened},
    {"merging", "merges_pages.c", {}, {check::kError}, kNothingHappened},
    {"keeper", "speaks_for_its_keeper.c", {}, {check::kError}, kNothingHappened},
    {"keeper_no_namespace", "speaks_for_its_keeper.c", {layer::kProcessNamespace}, {check::kError}, kNothingHappened},
    {"memory_files", "eats_memory_in_files.c", {}, {check::kMeans}},
    {"memory_files_counted", "eats_memory_in_files.c", kSignalsOnly, {check::kError}, kNothingHappened},
    {"memory_shared", "eats_shared_memory.c", {}, {check::kMeans}},
    {"memory_shared_counted", "eats_shared_memory.c", kSignalsOnly, {check::kError}, kNothingHappened},
    {"stops_itself", "stops_itself.c", {}, {check::kTimeout}},
};
// clang-format on

// The operator's own, for cheats that know where it is: a file of the user that contestants run as,
// and a folder that is hidden. Beside them what an accomplice has left in shared memory, and a
// variable in the environment.
class OperatorsFiles {
 public:
  OperatorsFiles() {
    // Their names are known to the cheats, and tests run side by side.
    flock(lock_.get(), LOCK_EX);
    fs::create_directory(folder_);
    std::ofstream(folder_ / "ledger.db") << "secret";
    fs::remove(link_);
    fs::create_symlink(folder_ / "ledger.db", link_);
    std::ofstream(file_) << "untouched";
    std::ofstream(accomplices_) << "word";
    setenv("THRESHER_OPERATORS_TOKEN", "secret", 1);
    if (geteuid() == 0 && chown(file_.c_str(), referee::kUnprivilegedId, 0) != 0) std::abort();
    chmod(file_.c_str(), 0644);
  }
  OperatorsFiles(const OperatorsFiles&) = delete;
  OperatorsFiles& operator=(const OperatorsFiles&) = delete;
  ~OperatorsFiles() {
    struct stat status {};
    EXPECT_EQ(stat(file_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0644u);
    EXPECT_GT(status.st_mtime, 1);
    fs::remove(file_);
    fs::remove(accomplices_);
    fs::remove(link_);
    fs::remove_all(folder_);
  }
  const fs::path& folder() const { return folder_; }

 private:
  const referee::UniqueFd lock_{
      open(THRESHER_SOURCE_DIR "/tests/cheats/looks_around.c", O_RDONLY | O_CLOEXEC)};
  const fs::path file_ = "/tmp/thresher-operators-file";
  const fs::path folder_ = "/tmp/thresher-operators-folder";
  const fs::path link_ = "/tmp/thresher-operators-link";
  const fs::path accomplices_ = "/dev/shm/thresher-accomplice";
};

bool granted(const char* layer_name) {
  static const std::vector<referee::Protection> protections =
      referee::probe_protections(THRESHER_BINARY_DIR "/thresher");
  return std::any_of(protections.begin(), protections.end(),
                     [&](const auto& one) { return one.name == layer_name && one.ok; });
}

// Whether two threads get the time of two cores; on a crowded machine nobody gains by more threads.
bool two_cores_are_free() {
  const auto spin = [](double& cpu_seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (std::chrono::steady_clock::now() < end) {
    }
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    cpu_seconds = static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
  };
  double seconds[2] = {};
  std::thread first(spin, std::ref(seconds[0]));
  std::thread second(spin, std::ref(seconds[1]));
  first.join();
  second.join();
  return seconds[0] + seconds[1] > 0.18;
}

class ConfinedCheats : public ::testing::TestWithParam<ConfinedCheat> {};

TEST_P(ConfinedCheats, GainNothing) {
  const ConfinedCheat& cheat = GetParam();
#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
  const bool takes_memory = std::string(cheat.file).find("memory") != std::string::npos;
  if (takes_memory) GTEST_SKIP() << "a sanitizer's process takes more than any contestant";
#endif
  if (cheat.thread_count < 2 && cpu::usable_core_count() < 2) GTEST_SKIP() << "needs two cores";
  const bool reads_files = std::string(cheat.file) == "looks_around.c" ||
                           std::string(cheat.file) == "hears_an_accomplice.c";
  const bool needs_cores = cheat.reason.find("grants") != std::string::npos;
  if (needs_cores && !two_cores_are_free()) GTEST_SKIP() << "others use the cores it would take";
  if (reads_files && !granted(layer::kPrivateFiles)) GTEST_SKIP() << "needs private files";
  if (std::string(cheat.file) == "reads_the_ledger.c" && !granted(layer::kWriteProtection)) {
    GTEST_SKIP() << "needs Landlock";
  }
  const OperatorsFiles files;
  MatchOptions options = quick_options();
  options.thread_count = cheat.thread_count;
  if (cheat.checks.contains(check::kTimeout)) options.call_timeout_seconds = 3;
  options.confinement = {.hidden = {files.folder()}, .without = cheat.without};
  // The gates are enough: every call of theirs is stopped, counted and held like a timed one.
  const Verdict verdict = check_contestant(
      contestant_of_file(std::string("tests/cheats/") + cheat.file), tiny_suite(), options);
  SCOPED_TRACE(verdict.reason);
  if (cheat.checks.empty()) {
    EXPECT_EQ(verdict.check, "gates");
  } else {
    EXPECT_EQ(to_string(verdict.kind), "invalid");
    EXPECT_TRUE(cheat.checks.contains(verdict.check)) << "caught by " << verdict.check;
    EXPECT_NE(verdict.reason.find(cheat.reason), std::string::npos);
  }
  for (const std::string& name : cheat.without) {
    const auto& missing = verdict.missing_protections;
    EXPECT_TRUE(std::any_of(missing.begin(), missing.end(), [&](const std::string& text) {
      return text.starts_with(name + ": ");
    })) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ConfinedCheats, ::testing::ValuesIn(kConfinedCheats),
                         [](const auto& one) { return std::string(one.param.label); });

// Runs a case of this program once more, as a user who is nobody special.
struct OthersRun {
  int exit_code = -1;
  std::string output;
};

OthersRun run_as_nobody_special(const std::string& test) {
  const std::string filter = "--gtest_filter=" + test;
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    const gid_t group = referee::kUnprivilegedId;
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    if (setgroups(0, nullptr) != 0 || setgid(group) != 0 || setuid(referee::kUnprivilegedId) != 0) {
      _exit(125);
    }
    execl("/proc/self/exe", "referee_tests", filter.c_str(), nullptr);
    _exit(126);
  }
  close(out[1]);
  OthersRun run;
  char bytes[4096];
  for (ssize_t size; (size = read(out[0], bytes, sizeof bytes)) > 0;) {
    run.output.append(bytes, static_cast<std::size_t>(size));
  }
  close(out[0]);
  int status = 0;
  if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)) {
    run.exit_code = WEXITSTATUS(status);
  }
  return run;
}

// Whether that user finds what the case needs: this program, the house's files, the binary.
bool everybody_may_read(const fs::path& file) {
  for (fs::path at = fs::canonical(file); at != at.root_path(); at = at.parent_path()) {
    struct stat status {};
    const mode_t needed = at == fs::canonical(file) ? S_IROTH : S_IXOTH;
    if (stat(at.c_str(), &status) != 0 || (status.st_mode & needed) == 0) return false;
  }
  return true;
}

// Operators are seldom root. Contestants then run as the operator himself: the files they reach for
// are theirs by every right that the kernel knows, and root's layers are not to be had.
class ConfinedCheatsOfAnyOperator : public ::testing::TestWithParam<const char*> {};

TEST_P(ConfinedCheatsOfAnyOperator, GainNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "the operator is not root anyway";
  for (const char* file : {"/proc/self/exe", THRESHER_BINARY_DIR "/thresher",
                           THRESHER_SOURCE_DIR "/tests/cheats/looks_around.c"}) {
    if (!everybody_may_read(file)) GTEST_SKIP() << "only root may read " << file;
  }
  const OthersRun run =
      run_as_nobody_special(std::string("Catalogue/ConfinedCheats.GainNothing/") + GetParam());
  EXPECT_EQ(run.exit_code, 0) << run.output;
  if (run.output.find("[  SKIPPED ]") != std::string::npos) GTEST_SKIP() << run.output;
  EXPECT_NE(run.output.find("[  PASSED  ] 1 test"), std::string::npos) << run.output;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ConfinedCheatsOfAnyOperator,
                         ::testing::Values("attributes", "attributes_shared_files", "looks_around",
                                           "ledger", "ledger_shared_files", "environment", "traps",
                                           "traps_shared_files"),
                         [](const auto& one) { return std::string(one.param); });

// Launchers carry the folder in their order, and all that they have forked with them.
int count_processes_of(const fs::path& folder) {
  int count = 0;
  std::error_code error;
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", error)) {
    std::ifstream file(process.path() / "cmdline");
    std::string line;
    std::getline(file, line);
    count += line.find(folder.string()) != std::string::npos;
  }
  return count;
}

// Whether so many are there within five seconds; a crowded machine has longer.
bool come_to(int count_least, int count_most, const fs::path& folder) {
  double load = 0;
  if (getloadavg(&load, 1) != 1) load = 1;
  for (int i = 0; i < static_cast<int>(500 * std::max(1.0, load)); ++i) {
    const int count = count_processes_of(folder);
    if (count >= count_least && count <= count_most) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Where there is neither a group of the kernel's nor a process namespace, and nobody to take care:
// whoever is busy when its referee is killed goes by the death signal.
TEST(KilledReferee, TakesBusyContestantsAlong) {
  std::vector<std::string> without = kSignalsOnly;
  without.emplace_back(layer::kProcessNamespace);
  for (const char* file : {"burns_while_idle.c", "busy_in_the_kernel.c"}) {
    const referee::ScratchFolder folder(referee::FolderOwner::kReferee);
    const pid_t referee = fork();
    if (referee == 0) {
      setenv("TMPDIR", folder.path().c_str(), 1);
      MatchOptions options = quick_options();
      options.analysis.heats_min = options.analysis.heats_max = 1000;
      options.confinement.without = without;
      judge({.champion = variant(""),
             .challenger = contestant_of_file(std::string("tests/cheats/") + file),
             .suite = tiny_suite(),
             .options = options});
      _exit(1);
    }
    // Keeper and contestant; a compiler before them may be one of ours as well.
    EXPECT_TRUE(come_to(2, 1000, folder.path())) << file;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    kill(referee, SIGKILL);
    int status = 0;
    waitpid(referee, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << file << " was over before";
    EXPECT_TRUE(come_to(0, 0, folder.path())) << file;
  }
}

TEST(ConfinedMemory, IsOneForAllProcesses) {
#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
  GTEST_SKIP() << "a sanitizer's process takes more memory than any contestant";
#endif
  MatchOptions options = quick_options();
  // Whoever waits for a child that was ended for its memory waits until then.
  options.call_timeout_seconds = 10;
  const MatchRecord record =
      judge({.champion = variant(""),
             .challenger = contestant_of_file("tests/cheats/eats_memory_in_children.c"),
             .suite = tiny_suite(),
             .options = options});
  SCOPED_TRACE(record.verdict.reason);
  EXPECT_EQ(to_string(record.verdict.kind), "invalid");
  EXPECT_EQ(record.verdict.check, check::kMeans);
  EXPECT_NE(record.verdict.reason.find("its processes together"), std::string::npos);
}

TEST(RemoveTree, TakesWhateverIsThere) {
  std::string name = (fs::temp_directory_path() / "thresher_tree_XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path kept = name + ".kept";
  std::ofstream(kept) << "x";
  const fs::path tree = fs::path(name) / "tree";
  fs::create_directories(tree / "locked" / "inner");
  std::ofstream(tree / "locked" / "inner" / "file") << "x";
  fs::create_symlink(kept, tree / "link");
  fs::create_directory_symlink(name, tree / "locked" / "up");
  fs::permissions(tree / "locked" / "inner", fs::perms::none);
  fs::permissions(tree / "locked", fs::perms::none);
  // Deeper than PATH_MAX.
  int at = open(tree.c_str(), O_DIRECTORY);
  for (int depth = 0; depth < 1500; ++depth) {
    ASSERT_EQ(mkdirat(at, "folder", 0700), 0);
    const int below = openat(at, "folder", O_DIRECTORY);
    close(at);
    at = below;
  }
  close(at);
  fs::permissions(tree, fs::perms::none);
  EXPECT_TRUE(referee::remove_tree(tree));
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_TRUE(referee::remove_tree(tree));  // not there
  fs::remove(kept);
  EXPECT_TRUE(referee::remove_tree(name));
}

}  // namespace
}  // namespace thresher
