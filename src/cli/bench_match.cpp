// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "gemm/conformance.hpp"
#include "gemm/random.hpp"

namespace thresher::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpRoundsMax = 3;
// The fewest samples whose range covers the median with 95 %; a slow problem may exceed its budget.
constexpr int kRoundsMin = 6;
constexpr int kRoundsMax = 1000;
constexpr std::int64_t kCheckedElements = 32;
constexpr auto kRest = std::chrono::microseconds(200);

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

class Match {
 public:
  Match(const std::vector<Contestant>& contestants, const Inputs& inputs, MatchOptions options)
      : contestants_(contestants),
        inputs_(inputs),
        options_(options),
        random_(options.seed),
        samples_us_(contestants.size()),
        timings_(contestants.size()) {}

  std::vector<Timing> play() {
    const Clock::time_point begin = Clock::now();
    const double budget_us = options_.seconds * 1e6;
    for (int round = 0; round < kWarmUpRoundsMax; ++round) {
      if (round >= 2 && us_since(begin) > budget_us / 5) break;
      for (const Contestant& contestant : contestants_) contestant.run();
    }
    for (int round = 0; round < kRoundsMin || us_since(begin) < budget_us; ++round) {
      if (round == kRoundsMax) break;
      play_round();
    }
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      timings_[i].name = contestants_[i].name;
      timings_[i].us = referee::median_interval(samples_us_[i]);
      timings_[i].sample_count = static_cast<std::int64_t>(samples_us_[i].size());
    }
    return std::move(timings_);
  }

 private:
  void play_round() {
    std::vector<std::size_t> order(contestants_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (const std::size_t index : order) {
      const Contestant& contestant = contestants_[index];
      contestant.outputs->poison(random_.next());
      rest();
      const Clock::time_point begin = Clock::now();
      contestant.run();
      samples_us_[index].push_back(us_since(begin));
      check(contestant, timings_[index]);
    }
  }

  // Threads of the contestant before may still spin for their next call; let them fall asleep.
  static void rest() {
    const Clock::time_point end = Clock::now() + kRest;
    while (Clock::now() < end) {
    }
  }

  void check(const Contestant& contestant, Timing& timing) {
    const Conformance conformance =
        check_outputs(contestant.problem, inputs_, contestant.outputs->views(),
                      {.sample_count = kCheckedElements, .seed = random_.next()});
    timing.max_error_over_bound =
        std::max(timing.max_error_over_bound, conformance.max_error_over_bound);
    std::string failure =
        conformance.ok ? contestant.outputs->find_trespass() : conformance.first_failure;
    if (timing.first_failure.empty()) timing.first_failure = std::move(failure);
  }

  const std::vector<Contestant>& contestants_;
  const Inputs& inputs_;
  const MatchOptions options_;
  Random random_;
  std::vector<std::vector<double>> samples_us_;
  std::vector<Timing> timings_;
};

}  // namespace

std::vector<Timing> play_match(const std::vector<Contestant>& contestants, const Inputs& inputs,
                               MatchOptions options) {
  return Match(contestants, inputs, options).play();
}

}  // namespace thresher::cli
