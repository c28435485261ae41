// SPDX-License-Identifier: Apache-2.0
// The referee on a GPU, for real: honest contestants pass, every cheat under tests/cheats_gpu/
// loses by the check that is meant for it, and a variant against itself shows nothing.
//
//   gpu_referee THRESHER ROOT    the command, and the root of the house
//
// It needs nothing but these, so that it runs on a machine where nothing can be installed. Exit
// code 77: there is no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "gpu/runtime/nvrtc.hpp"
#include "quick_match.hpp"
#include "referee/fault.hpp"
#include "thresher/error.hpp"

namespace {

using namespace thresher;
namespace check = thresher::referee::check;
namespace fs = std::filesystem;

constexpr int kSkipped = 77;

struct Cheat {
  const char* name;
  std::vector<const char*> kernels;  // in the order of their launches
  const char* verdict;
  std::vector<std::string_view> checks;  // one of them, whichever looks at a wrong element first
  bool needs_long_sums = false;
};

const std::vector<Cheat> kCheats = {
    {"replay_by_first_bytes", {"decide", "gemm"}, "wrong", {check::kReplay}},
    {"replay_by_pointer", {"decide", "gemm"}, "wrong", {check::kReplay}},
    {"cheap_when_timed", {"decide", "gemm"}, "wrong", {check::kTimedOutput}},
    {"corners_only", {"gemm"}, "wrong", {check::kNumerics}},
    {"one_wrong_when_timed", {"decide", "gemm"}, "wrong", {check::kTimedOutput}},
    {"skips_last_tail", {"decide", "gemm"}, "wrong", {check::kTimedOutput}},
    {"corners_when_timed", {"decide", "gemm"}, "wrong", {check::kTimedOutput}},
    {"wrong_once_per_batch", {"decide", "gemm"}, "wrong", {check::kTimedOutput}},
    {"wrong_once_in_a_batch", {"decide", "gemm"}, "wrong", {check::kTimedOutput}},
    {"public_shapes_only", {"gemm"}, "wrong", {check::kHiddenShapes}},
    {"activations_of_8_bits",
     {"narrow", "gemm"},
     "wrong",
     {check::kPrecision, check::kNumerics},
     true},
    {"accumulates_in_fp16", {"gemm"}, "wrong", {check::kPrecision, check::kNumerics}, true},
    {"writes_outside", {"gemm"}, "invalid", {check::kGuard}},
    {"leaves_last_column", {"narrow", "gemm"}, "wrong", {check::kPoison}},
    {"changes_weights", {"gemm", "erase"}, "invalid", {check::kInputs}},
    {"changes_activations", {"gemm", "erase"}, "invalid", {check::kInputs}},
    {"spins_forever", {"gemm"}, "invalid", {check::kTimeout}},
    {"reads_out_of_bounds", {"gemm"}, "invalid", {check::kError}},
    {"does_not_compile", {"gemm"}, "invalid", {check::kBuild}},
    {"compiles_in_the_time", {"gemm"}, "invalid", {check::kBuild}},
    {"prints_to_stdout", {"gemm"}, "invalid", {check::kProtocol}},
};

// Kernels other than "gemm" are one thread that decides something.
CudaLaunch launch_of(const std::string& kernel) {
  if (kernel != "gemm") return {.kernel = kernel, .grid = {"1"}, .block = {"1"}};
  return {
      .kernel = kernel, .grid = {"ceil_div(n, 64)", "ceil_div(m, 64)", "groups"}, .block = {"256"}};
}

class Trial {
 public:
  Trial(const fs::path& program, fs::path root) : root_(std::move(root)) {
    options_ = thresher::testing::quick_options();
    options_.program = fs::absolute(program);
    options_.call_timeout_seconds = 10;
    options_.seconds_max = 120;
    if (const char* venv = std::getenv("VIRTUAL_ENV")) {
      options_.gpu.compiler_folders = gpu::pip_library_folders(venv);
    }
  }

  const MatchOptions& options() const { return options_; }

  Contestant source(const fs::path& path, const std::vector<const char*>& kernels) const {
    Contestant contestant{.kind = ContestantKind::kCuda,
                          .name = path.stem(),
                          .source = path.filename(),
                          .folder = root_ / path.parent_path()};
    for (const char* kernel : kernels) contestant.launches.launches.push_back(launch_of(kernel));
    return contestant;
  }

  void expect_gates(const std::string& what, const Contestant& contestant, const Suite& suite) {
    const Verdict verdict = check_contestant(contestant, suite, options_);
    report(what, "accepted", {"gates"}, verdict);
  }

  void expect_verdict(const std::string& what, const Contestant& challenger, const char* kind,
                      const std::vector<std::string_view>& checks, const Suite& suite) {
    const MatchRecord record = judge({.champion = variant(),
                                      .challenger = challenger,
                                      .suite = suite,
                                      .terms = {},
                                      .options = options_});
    report(what, kind, checks, record.verdict);
  }

  // How the timing comes out is the machine's business; that it is complete is ours.
  void expect_complete(const std::string& what, const Contestant& champion,
                       const Contestant& challenger) {
    const MatchRecord record = judge({.champion = champion,
                                      .challenger = challenger,
                                      .suite = suite(),
                                      .terms = {},
                                      .options = options_});
    for (const std::string& line : record.log) fmt::print("    {}\n", line);
    const bool ok = record.verdict.estimate && record.samples.heats.size() == 2;
    count(ok, what, record.verdict);
  }

  void expect_not_accepted(const std::string& what, const Contestant& champion,
                           const Contestant& challenger) {
    const MatchRecord record = judge({.champion = champion,
                                      .challenger = challenger,
                                      .suite = suite(),
                                      .terms = {},
                                      .options = options_});
    const bool ok = record.verdict.estimate && record.verdict.kind != VerdictKind::kAccepted;
    count(ok, what, record.verdict);
  }

  Contestant variant(const std::string& name = "gpu_sm90") const {
    return {.name = name, .variant = name, .backend = "gpu"};
  }

  int failure_count() const { return failure_count_; }

  static Suite suite() {
    Suite suite = thresher::testing::tiny_suite();
    suite.problems.push_back(thresher::testing::make_problem({70, 0, 130}, 256, 512));
    suite.problems.back().name = "small_gemm";
    suite.problems.back().output = Output::kFp16;
    return suite;
  }

 private:
  void report(const std::string& what, std::string_view kind,
              const std::vector<std::string_view>& checks, const Verdict& verdict) {
    const bool is_one_of = std::find(checks.begin(), checks.end(), verdict.check) != checks.end();
    count(to_string(verdict.kind) == kind && is_one_of, what, verdict);
  }

  void count(bool ok, const std::string& what, const Verdict& verdict) {
    failure_count_ += ok ? 0 : 1;
    fmt::print("{} {}: {} ({}): {}\n", ok ? "ok    " : "FAILED", what, to_string(verdict.kind),
               verdict.check, verdict.reason);
    std::fflush(stdout);
  }

  const fs::path root_;
  MatchOptions options_;
  int failure_count_ = 0;
};

int run(const fs::path& program, const fs::path& root) {
  Trial trial(program, fs::absolute(root));
  if (const std::string why = why_no_device(trial.options().gpu); !why.empty()) {
    fmt::print("skipped: {}\n", why);
    return kSkipped;
  }
  const Contestant plain = trial.source("examples/cuda/plain_gemm.cu", {"gemm"});
  const Suite all_kinds = thresher::testing::all_kinds_suite();
  trial.expect_gates("a variant", trial.variant(), all_kinds);
  trial.expect_gates("the engine's choice", trial.variant(""), all_kinds);
  trial.expect_gates("a CUDA source", plain, all_kinds);
  trial.expect_complete("a variant against itself", trial.variant(), trial.variant());
  trial.expect_complete("a graph", trial.variant(), trial.variant("gpu_sm90:graph=on"));
  trial.expect_complete("a CUDA source against a variant", trial.variant(), plain);
  for (const Cheat& cheat : kCheats) {
    const fs::path path = fs::path("tests/cheats_gpu") / (std::string(cheat.name) + ".cu");
    trial.expect_verdict(cheat.name, trial.source(path, cheat.kernels), cheat.verdict, cheat.checks,
                         cheat.needs_long_sums ? thresher::testing::long_suite() : Trial::suite());
  }
  // It is honest unless it is right about what follows the poison it sees.
  trial.expect_complete("poison that nobody foresees", trial.variant(),
                        trial.source("tests/cheats_gpu/foresees_poison.cu", {"decide", "gemm"}));
  trial.expect_not_accepted(
      "every fifth call slow",
      trial.source("tests/cheats_gpu/steady_champion.cu", {"decide", "gemm"}),
      trial.source("tests/cheats_gpu/every_fifth_slow.cu", {"decide", "gemm"}));
  trial.expect_verdict("a kernel that is not there",
                       trial.source("examples/cuda/plain_gemm.cu", {"gemv"}), "invalid",
                       {check::kBuild}, Trial::suite());
  fmt::print("{} failures\n", trial.failure_count());
  return trial.failure_count() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} THRESHER ROOT\n", argv[0]);
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
