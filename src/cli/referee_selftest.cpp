// SPDX-License-Identifier: Apache-2.0
// thresher referee selftest: does the referee, on this machine and today, tell nothing from
// something? Matches of the champion against itself, without and with a gain of known size.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/contestant_threads.hpp"
#include "cli/interruption.hpp"
#include "cli/memory_check.hpp"
#include "cli/presence.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "cli/table.hpp"
#include "hide.hpp"
#include "referee/match.hpp"
#include "referee/statistics/distributions.hpp"
#include "thresher/error.hpp"

namespace thresher::cli {
namespace {

// Of matches of the champion against itself: the level of the intervals, and of the deal terms.
constexpr double kDifferentShare = 0.05;
// A sound instrument is called broken by chance in one selftest of a hundred, by either count.
constexpr double kSoundDoubt = 0.01;

struct SelftestArguments {
  std::string suite = "tank";
  std::vector<std::string> problems;
  std::string variant;
  int thread_count = 0;
  int match_count = 20;
  int gain_match_count = 20;
  std::vector<std::string> gains = {"0.02"};
  bool load = false;
  double seconds_max = 60;
  bool json = false;
};

struct Tally {
  int match_count = 0;
  int accepted_count = 0;
  int different_count = 0;  // the 95 % interval does not contain 1
  int rejected_count = 0;
  int unclear_count = 0;
  double log_speedup_sum = 0;
  std::vector<std::string> verdicts;  // in words
  double seconds = 0;

  double share(int count) const { return static_cast<double>(count) / std::max(1, match_count); }
  double mean_speedup() const { return std::exp(log_speedup_sum / std::max(1, match_count)); }

  void add(const MatchRecord& record) {
    ++match_count;
    verdicts.push_back(
        fmt::format("{}: {}", to_string(record.verdict.kind), record.verdict.reason));
    seconds += record.seconds;
    if (record.verdict.kind == VerdictKind::kAccepted) ++accepted_count;
    if (record.verdict.kind == VerdictKind::kRejected) ++rejected_count;
    if (record.verdict.kind == VerdictKind::kUnclear) ++unclear_count;
    if (!record.verdict.estimate) return;
    const Estimate& speedup = record.verdict.estimate->speedup;
    if (speedup.low > 1 || speedup.high < 1) ++different_count;
    log_speedup_sum += std::log(speedup.value);
  }
};

// Another process that keeps one core busy for as long as this lives.
class Load {
 public:
  explicit Load(bool wanted) {
    if (!wanted) return;
    pid_ = fork();
    if (pid_ == 0) spin_for_ever();
    if (pid_ < 0) throw Error("cannot start the process that keeps a core busy");
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  // Always the same core, so that the kernel cannot move it out of the arms' way.
  [[noreturn]] static void spin_for_ever() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
    unsigned counter = 0;
    while (true) use(++counter);
  }

  pid_t pid_ = -1;
};

std::vector<double> gains_from(const std::vector<std::string>& words) {
  std::vector<double> gains;
  for (const std::string& word : words) {
    char* end = nullptr;
    const double gain = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || !(gain >= -10 && gain <= 10) || gain == 0) {
      throw UsageError(
          fmt::format("--gain: '{}' is not a share from -10 to 10 that is not 0", word));
    }
    gains.push_back(gain);
  }
  return gains;
}

Suite chosen_suite(const SelftestArguments& arguments) {
  Suite suite{.name = arguments.suite};
  for (SelectedProblem& selected : select_problems({arguments.suite}, arguments.problems)) {
    suite.problems.push_back(std::move(selected.problem));
  }
  return suite;
}

// "gain of 2 %", "regression of 4 %".
std::string described(double gain) {
  return fmt::format("{} of {:g} %", gain < 0 ? "regression" : "gain", 100 * std::abs(gain));
}

Tally play(const SelftestArguments& arguments, int match_count, double gain, Progress& progress) {
  const thresher::Contestant self{.name = "itself", .variant = arguments.variant};
  thresher::Match match{.champion = self, .challenger = self, .suite = chosen_suite(arguments)};
  match.options.gpu = engine_options(backend_of(self));
  match.options.thread_count = arguments.thread_count;
  match.options.seconds_max = arguments.seconds_max;
  Tally tally;
  for (int i = 0; i < match_count; ++i) {
    progress.begin_step(
        fmt::format("match {}, {}", i + 1, gain == 0 ? "as it is" : described(gain)));
    tally.add(referee::judge_with_gain(match, gain));
  }
  return tally;
}

nlohmann::json to_json(const Tally& tally) {
  return {{"matches", tally.match_count},       {"accepted", tally.accepted_count},
          {"different", tally.different_count}, {"rejected", tally.rejected_count},
          {"unclear", tally.unclear_count},     {"mean_speedup", tally.mean_speedup()},
          {"seconds", tally.seconds},           {"verdicts", tally.verdicts}};
}

void add_row(Table& table, const std::string& name, const Tally& tally) {
  table.add_row({name, fmt::format("{}", tally.match_count),
                 fmt::format("{:.0f} %", 100 * tally.share(tally.different_count)),
                 fmt::format("{:.0f} %", 100 * tally.share(tally.accepted_count)),
                 fmt::format("{:.0f} %", 100 * tally.share(tally.rejected_count)),
                 fmt::format("{:.0f} %", 100 * tally.share(tally.unclear_count)),
                 fmt::format("{:.4f}", tally.mean_speedup()),
                 fmt::format("{:.1f}", tally.seconds / std::max(1, tally.match_count))});
}

struct Gained {
  double gain = 0;
  Tally tally;
};

void print_tables(const Tally& same, const std::vector<Gained>& gained) {
  Table table({{"champion against itself"},
               {"matches", Align::kRight},
               {"called different", Align::kRight},
               {"accepted", Align::kRight},
               {"rejected", Align::kRight},
               {"unclear", Align::kRight},
               {"mean speedup", Align::kRight},
               {"s per match", Align::kRight}});
  add_row(table, "as it is", same);
  for (const Gained& one : gained) {
    add_row(table, described(one.gain), one.tally);
  }
  print(table);
}

// "gained" is the first of the gains, which was once the only one.
void print_report(const SelftestArguments& arguments, const Tally& same,
                  const std::vector<Gained>& gained) {
  nlohmann::json json{{"suite", arguments.suite},
                      {"gain", gained.front().gain},
                      {"load", arguments.load},
                      {"same", to_json(same)},
                      {"gained", to_json(gained.front().tally)},
                      {"gains", nlohmann::json::array()}};
  for (const Gained& one : gained) {
    nlohmann::json row = to_json(one.tally);
    row["gain"] = one.gain;
    json["gains"].push_back(std::move(row));
  }
  fmt::print("{}\n", json.dump());
}

// One false alarm in three matches is 33 % and no evidence: what chance explains is forgiven.
bool is_sound(const Tally& same, const std::vector<Gained>& gained) {
  const auto too_many = [&](int count) {
    return referee::binomial_tail(count, same.match_count, kDifferentShare) < kSoundDoubt;
  };
  const bool lets_regressions_in = std::any_of(gained.begin(), gained.end(), [](const Gained& one) {
    return one.gain < -DealTerms{}.regression_max && one.tally.accepted_count > 0;
  });
  return !too_many(same.different_count) && !too_many(same.accepted_count) && !lets_regressions_in;
}

int run_selftest(SelftestArguments arguments) {
  const Interruption interruption("a selftest keeps nothing; the same command starts it anew");
  check_match_fits(chosen_suite(arguments));
  const Presence presence("referee selftest");
  const std::vector<double> gains = gains_from(arguments.gains);
  Progress progress(arguments.match_count +
                    arguments.gain_match_count * static_cast<int>(gains.size()));
  const Load load(arguments.load);
  arguments.thread_count = contestant_threads(arguments.thread_count);
  const Tally same = play(arguments, arguments.match_count, 0, progress);
  std::vector<Gained> gained;
  for (const double gain : gains) {
    gained.push_back({gain, play(arguments, arguments.gain_match_count, gain, progress)});
  }
  progress.clear();
  if (arguments.json) {
    print_report(arguments, same, gained);
  } else {
    print_tables(same, gained);
  }
  return is_sound(same, gained) ? kExitOk : kExitFailure;
}

}  // namespace

Command referee_selftest_command() {
  const auto arguments = std::make_shared<SelftestArguments>();
  return {
      .name = "selftest",
      .what =
          "Play the champion against itself; exit code 1 if more are different or accepted "
          "than 5 % and chance explain, or a regression beyond the deal terms is accepted",
      .options = {{"--suite", &arguments->suite, "Suite name or .toml file"},
                  {"--problem", &arguments->problems, "Only these problems"},
                  contestant_threads_option(arguments->thread_count),
                  {.name = "--variant",
                   .value = &arguments->variant,
                   .what = "Champion",
                   .default_text = "the engine's choice"},
                  {.name = "--matches",
                   .value = &arguments->match_count,
                   .what = "Matches without a gain",
                   .range = {{1, 100000}}},
                  {.name = "--gain-matches",
                   .value = &arguments->gain_match_count,
                   .what = "Matches with one",
                   .range = {{0, 100000}}},
                  {.name = "--gain",
                   .value = &arguments->gains,
                   .what = "Gains to inject, one after the other, regressions below 0: 0.02 0.1 "
                           "-0.04",
                   .default_text = "0.02",
                   .type_text = "SHARE"},
                  {"--load", &arguments->load, "Keep one core busy meanwhile"},
                  {.name = "--seconds",
                   .value = &arguments->seconds_max,
                   .what = "Longest time of one match",
                   .range = {{0.1, 86400}}},
                  json_flag(arguments->json)},
      .run = [arguments] { return run_selftest(*arguments); }};
}

}  // namespace thresher::cli
