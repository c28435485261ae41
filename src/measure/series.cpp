// SPDX-License-Identifier: Apache-2.0
#include "measure/series.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "gemm/random.hpp"

namespace thresher::measure {
namespace {

using HostTime = std::chrono::steady_clock;

constexpr int kWarmUpRounds = 2;
constexpr double kWarmUpShare = 0.2;
// The fewest samples whose range covers the median with 95 %; a slow problem may exceed its budget.
constexpr int kRoundsMin = 7;
constexpr int kRoundsMax = 2000;

class Series {
 public:
  Series(Clock& clock, const std::vector<Entrant>& entrants, const Judge& judge,
         const SeriesOptions& options)
      : clock_(clock),
        entrants_(entrants),
        judge_(judge),
        options_(options),
        random_(options.seed),
        samples_us_(entrants.size()),
        timings_(entrants.size()) {}

  std::vector<Timing> play() {
    clock_.get_ready(entrants_);
    check_all();
    if (clock_.checks_every_sample()) {
      play_checked_rounds();
    } else {
      play_rounds_without_pause();
    }
    check_all();
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      timings_[i].name = entrants_[i].name;
      timings_[i].apart = clock_.timed_apart(i);
      timings_[i].us = median_interval(samples_us_[i]);
      timings_[i].sample_count = static_cast<std::int64_t>(samples_us_[i].size());
    }
    return std::move(timings_);
  }

 private:
  static double seconds_since(HostTime::time_point begin) {
    return std::chrono::duration<double>(HostTime::now() - begin).count();
  }

  // Before and after the timed samples, never between them: a device that pauses cools down.
  void check_all() {
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      const std::uint64_t seed = random_.next();
      for (std::size_t copy = 0; copy < options_.copy_count; ++copy) {
        if (copy == 0 || !clock_.checks_every_sample()) entrants_[i].poison(copy, seed);
      }
      check(i, clock_.run_untimed(i));
    }
  }

  // Every round's samples are queued before those of the round before are read. What is timed until
  // the machine has settled is thrown away.
  void play_rounds_without_pause() {
    const double settling = std::max(clock_.settling_seconds(), kWarmUpShare * options_.seconds);
    const HostTime::time_point begin = HostTime::now();
    std::vector<std::size_t> queued = draw_order();
    clock_.queue(queued);
    int round_count = 0;
    while (!is_over(round_count, begin, settling)) {
      std::vector<std::size_t> next = draw_order();
      clock_.queue(next);
      const std::vector<double> us = clock_.collect_us();
      if (seconds_since(begin) >= settling) {
        keep(queued, us);
        ++round_count;
      }
      queued = std::move(next);
    }
    clock_.collect_us();
  }

  void play_checked_rounds() {
    const HostTime::time_point begin = HostTime::now();
    for (int round = 0; round < kWarmUpRounds; ++round) {
      if (round > 0 && seconds_since(begin) > kWarmUpShare * options_.seconds) break;
      clock_.queue(draw_order());
      clock_.collect_us();
    }
    for (int round_count = 0; !is_over(round_count, begin, 0); ++round_count) {
      for (const std::size_t index : draw_order()) {
        entrants_[index].poison(0, random_.next());
        clock_.queue({index});
        keep({index}, clock_.collect_us());
        check(index, clock_.last_copy());
      }
    }
  }

  bool is_over(int round_count, HostTime::time_point begin, double settling) const {
    if (round_count < kRoundsMin) return false;
    return round_count == kRoundsMax || seconds_since(begin) >= settling + options_.seconds;
  }

  std::vector<std::size_t> draw_order() {
    std::vector<std::size_t> order(entrants_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(order, random_);
    return order;
  }

  void keep(const std::vector<std::size_t>& order, const std::vector<double>& us) {
    for (std::size_t i = 0; i < order.size(); ++i) samples_us_[order[i]].push_back(us[i]);
  }

  void check(std::size_t index, std::size_t copy) {
    Timing& timing = timings_[index];
    const Conformance conformance = judge_(entrants_[index], copy);
    timing.max_error_over_bound =
        std::max(timing.max_error_over_bound, conformance.max_error_over_bound);
    if (timing.first_failure.empty()) timing.first_failure = conformance.first_failure;
  }

  Clock& clock_;
  const std::vector<Entrant>& entrants_;
  const Judge& judge_;
  const SeriesOptions options_;
  Random random_;
  std::vector<std::vector<double>> samples_us_;
  std::vector<Timing> timings_;
};

}  // namespace

Judge by_witness(const Witness& witness) {
  return [&witness](const Entrant& entrant, std::size_t copy) {
    Conformance conformance =
        witness.judge(entrant.problem.output, entrant.fetch(copy), entrant.rigour);
    if (conformance.ok) conformance.first_failure = entrant.find_trespass();
    return conformance;
  };
}

std::vector<Timing> play_series(Clock& clock, const std::vector<Entrant>& entrants,
                                const Judge& judge, const SeriesOptions& options) {
  return Series(clock, entrants, judge, options).play();
}

}  // namespace thresher::measure
