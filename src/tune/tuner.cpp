// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <span>

#include "gemm/inputs.hpp"
#include "measure/clock.hpp"
#include "measure/statistics.hpp"
#include "measure/variant_entrant.hpp"
#include "thresher/error.hpp"
#include "tune/search.hpp"
#include "tune/variant_space.hpp"

namespace thresher::tune {
namespace {

using HostTime = std::chrono::steady_clock;

// Of the time: the rest is the referee's.
constexpr double kSearchShare = 0.6;
constexpr std::size_t kRacers = 6;  // candidates beside the engine's choice and the leader
// A racer leaves after so many rounds if it is behind the best by more than that factor.
struct Cut {
  int rounds = 0;
  double behind = 1;
};
constexpr Cut kCuts[] = {{2, 1.25}, {4, 1.08}, {7, 1.03}};
constexpr int kRoundsMax = 11;
// A guess: races take as long as the problem does, and compiling takes longer.
constexpr std::size_t kTrialsExpected = 120;
// What a race must show before the referee is asked, and before the lead changes.
constexpr double kWorthAMatch = 1.01;
constexpr double kLead = 1.005;

double seconds_since(HostTime::time_point begin) {
  return std::chrono::duration<double>(HostTime::now() - begin).count();
}

// One race: the engine's choice, the leader and some candidates take turns, and slow candidates
// leave.
class Race {
 public:
  Race(const Engine& engine, const Problem& problem, measure::ColdProblem& cold)
      : engine_(engine),
        problem_(problem),
        cold_(cold),
        clock_(measure::make_clock(engine, {.copy_count = cold.copy_count()})) {}

  // False where the variant turns out not to run here.
  bool enter(const std::string& variant) {
    try {
      variants_.emplace_back(engine_, problem_, variant, cold_, /*device_counts=*/false);
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  // Median over rounds of the first's time over one's own, in the order of entering. The first so
  // many stay to the end.
  std::vector<double> run(std::size_t staying, Random& random) {
    for (measure::VariantEntrant& variant : variants_) {
      entrants_.push_back(variant.entrant(clock_->stream()));
    }
    clock_->get_ready(entrants_);
    ratios_.resize(entrants_.size());
    std::vector<std::size_t> racing(entrants_.size());
    for (std::size_t i = 0; i < racing.size(); ++i) racing[i] = i;
    play_round(racing, random, /*counts=*/false);
    for (int round = 1; round <= kRoundsMax; ++round) {
      play_round(racing, random, /*counts=*/true);
      for (const Cut& cut : kCuts) {
        if (cut.rounds == round) drop_behind(racing, staying, cut.behind);
      }
    }
    std::vector<double> speedups;
    for (const std::vector<double>& ratios : ratios_) {
      speedups.push_back(ratios.empty() ? 1 : measure::median(ratios));
    }
    return speedups;
  }

  double first_us() const { return measure::median(first_us_); }

 private:
  void play_round(std::vector<std::size_t> order, Random& random, bool counts) {
    shuffle(order, random);
    clock_->queue(order);
    const std::vector<double> us = clock_->collect_us();
    if (!counts) return;
    const auto first = std::find(order.begin(), order.end(), std::size_t{0}) - order.begin();
    const double first_us = us[static_cast<std::size_t>(first)];
    first_us_.push_back(first_us);
    for (std::size_t i = 0; i < order.size(); ++i) ratios_[order[i]].push_back(first_us / us[i]);
  }

  void drop_behind(std::vector<std::size_t>& racing, std::size_t staying, double behind) const {
    double best = 1;
    for (const std::size_t i : racing) best = std::max(best, measure::median(ratios_[i]));
    std::erase_if(racing, [&](std::size_t i) {
      return i >= staying && measure::median(ratios_[i]) * behind < best;
    });
  }

  const Engine& engine_;
  const Problem& problem_;
  measure::ColdProblem& cold_;
  const std::unique_ptr<measure::Clock> clock_;
  std::deque<measure::VariantEntrant> variants_;  // entrants point at them
  std::vector<measure::Entrant> entrants_;
  std::vector<std::vector<double>> ratios_;
  std::vector<double> first_us_;
};

class Tuner {
 public:
  Tuner(const Engine& engine, const Problem& problem, const TuneOptions& options)
      : engine_(engine),
        problem_(problem),
        options_(options),
        begin_(HostTime::now()),
        random_(options.seed, 1) {
    result_.choice = engine.plan(problem).variant();
    result_.variant = result_.choice;
  }

  TuneResult run() {
    options_.progress(fmt::format("{}: listing variants", problem_.name));
    Machine machine = engine_.state().machine();
    machine.rates = options_.rates;
    space_ = variant_space(engine_.state().row(), problem_, machine);
    result_.space_size = space_.names.size();
    if (!space_.names.empty()) search();
    confirm();
    return std::move(result_);
  }

 private:
  void search() {
    const Inputs inputs = make_inputs(problem_, InputFamily::kNatural, options_.seed);
    measure::ColdProblem cold(engine_, problem_, inputs);
    Search search(space_.space, options_.seed, kTrialsExpected);
    if (const std::optional<std::size_t> own = space_.find(result_.choice)) search.tell(*own, 1);
    // Once at least: a plan that nothing was tried for says nothing.
    bool goes_on = true;
    do {
      goes_on = race(search, cold);
    } while (goes_on && seconds_since(begin_) < kSearchShare * options_.seconds);
  }

  // One more race; false when there is nobody left to race.
  bool race(Search& search, measure::ColdProblem& cold) {
    options_.progress(fmt::format("{}: tried {} of {} variants, best {:.3f}x", problem_.name,
                                  result_.tried_count, result_.space_size, result_.raced_speedup));
    Race race(engine_, problem_, cold);
    race.enter(result_.choice);
    const std::size_t staying = has_leader() ? 2 : 1;
    if (has_leader()) race.enter(result_.variant);
    std::vector<std::size_t> points;
    while (points.size() < kRacers) {
      const std::optional<std::size_t> point = search.next();
      if (!point) break;
      ++result_.tried_count;
      if (race.enter(space_.names[*point])) {
        points.push_back(*point);
      } else {
        search.tell(*point, std::numeric_limits<double>::infinity());
      }
    }
    if (points.empty()) return false;
    const std::vector<double> speedups = race.run(staying, random_);
    if (result_.choice_us == 0) result_.choice_us = race.first_us();
    if (has_leader()) believe_leader(speedups[1]);
    const std::span candidates(speedups.begin() + static_cast<std::ptrdiff_t>(staying),
                               speedups.end());
    take_over(search, points, candidates, speedups[staying - 1]);
    result_.trace.push_back({seconds_since(begin_), result_.tried_count, result_.raced_speedup});
    return true;
  }

  bool has_leader() const { return result_.variant != result_.choice; }

  // Whoever takes the lead was lucky as well as fast; only the races after that say how fast.
  void believe_leader(double speedup) {
    leader_speedups_.push_back(speedup);
    result_.raced_speedup = measure::median(leader_speedups_);
  }

  void take_over(Search& search, const std::vector<std::size_t>& points,
                 std::span<const double> speedups, double leader) {
    double best = kLead * leader;
    for (std::size_t i = 0; i < points.size(); ++i) {
      search.tell(points[i], 1 / speedups[i]);
      if (speedups[i] <= best) continue;
      best = speedups[i];
      result_.variant = space_.names[points[i]];
      result_.raced_speedup = speedups[i];
      leader_speedups_.clear();
    }
  }

  // The referee's word against the engine's choice, in fresh processes and with all its checks.
  void confirm() {
    if (result_.variant == result_.choice || result_.raced_speedup < kWorthAMatch) {
      result_.reason =
          fmt::format("no variant of the {} tried was faster by 1 %", result_.tried_count);
      result_.variant = result_.choice;
      return;
    }
    options_.progress(fmt::format("{}: the referee plays {} against the engine's choice",
                                  problem_.name, result_.variant));
    Match match{.champion = {.name = "choice", .variant = result_.choice},
                .challenger = {.name = "tuned", .variant = result_.variant},
                .suite = {.name = problem_.name, .problems = {problem_}},
                .terms = options_.terms,
                .options = options_.match};
    match.options.seconds_max = std::max(1.0, options_.seconds - seconds_since(begin_));
    const MatchRecord record = judge(match);
    result_.accepted = record.verdict.kind == VerdictKind::kAccepted;
    result_.reason = fmt::format("{}: {}", to_string(record.verdict.kind), record.verdict.reason);
    if (record.verdict.estimate) result_.speedup = record.verdict.estimate->speedup;
  }

  const Engine& engine_;
  const Problem& problem_;
  const TuneOptions& options_;
  const HostTime::time_point begin_;
  Random random_;
  VariantSpace space_;
  std::vector<double> leader_speedups_;
  TuneResult result_;
};

}  // namespace

TuneResult tune(const Engine& engine, const Problem& problem, const TuneOptions& options) {
  return Tuner(engine, problem, options).run();
}

}  // namespace thresher::tune
