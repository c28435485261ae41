// SPDX-License-Identifier: Apache-2.0
#include "tune/hunt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "measure/statistics.hpp"
#include "tune/search.hpp"

namespace thresher::tune {
namespace {

// Of the time: the rest is the referee's.
constexpr double kSearchShare = 0.6;
// A racer leaves after so many rounds if it is behind the best by more than that factor.
struct Cut {
  int rounds = 0;
  double behind = 1;
};
constexpr Cut kCuts[] = {{2, 1.25}, {4, 1.08}, {7, 1.03}};
constexpr int kRoundsMax = 11;
// A race that is out of time ends after so many: fewer say nothing.
constexpr int kRoundsMin = 3;
// A guess: races take as long as the problem does, and compiling takes longer.
constexpr std::size_t kTrialsExpected = 120;
// What a race must show before the referee is asked, and before the lead changes.
constexpr double kWorthAMatch = 1.01;
constexpr double kLead = 1.005;
constexpr double kMatchSecondsMin = 1;

// One race: the engine's choice, the leader and some candidates take turns, and slow candidates
// leave.
class Race {
 public:
  Race(Track& track, std::size_t entrant_count) : track_(track), ratios_(entrant_count) {}

  // Median over rounds of the first's time over one's own, in the order of entering. The first so
  // many stay to the end. Of who left it is as much behind the best as when it left: a median of
  // its own two rounds would be the luck of the first in one of them.
  std::vector<double> run(std::size_t staying, Random& random,
                          const std::function<bool()>& is_out_of_time) {
    std::vector<std::size_t> racing(ratios_.size());
    std::iota(racing.begin(), racing.end(), std::size_t{0});
    play_round(racing, random, /*counts=*/false);
    for (int round = 1; round <= kRoundsMax; ++round) {
      if (round > kRoundsMin && is_out_of_time()) break;
      play_round(racing, random, /*counts=*/true);
      for (const Cut& cut : kCuts) {
        if (cut.rounds == round) drop_behind(racing, staying, cut.behind);
      }
    }
    std::vector<double> speedups;
    for (const std::vector<double>& ratios : ratios_) speedups.push_back(measure::median(ratios));
    const double best = best_of(racing);
    for (const auto& [racer, share] : shares_) speedups[racer] = share * best;
    return speedups;
  }

  double first_us() const { return measure::median(first_us_); }

 private:
  void play_round(std::vector<std::size_t> order, Random& random, bool counts) {
    shuffle(order, random);
    const std::vector<double> us = track_.play_round(order);
    if (!counts) return;
    const auto first = std::find(order.begin(), order.end(), std::size_t{0}) - order.begin();
    const double first_us = us[static_cast<std::size_t>(first)];
    first_us_.push_back(first_us);
    for (std::size_t i = 0; i < order.size(); ++i) ratios_[order[i]].push_back(first_us / us[i]);
  }

  double best_of(const std::vector<std::size_t>& racing) const {
    double best = 1;
    for (const std::size_t i : racing) best = std::max(best, measure::median(ratios_[i]));
    return best;
  }

  void drop_behind(std::vector<std::size_t>& racing, std::size_t staying, double behind) {
    const double best = best_of(racing);
    for (const std::size_t i : racing) {
      const double speedup = measure::median(ratios_[i]);
      if (i >= staying && speedup * behind < best) shares_[i] = speedup / best;
    }
    std::erase_if(racing, [&](std::size_t i) { return shares_.contains(i); });
  }

  Track& track_;
  std::vector<std::vector<double>> ratios_;
  std::vector<double> first_us_;
  std::map<std::size_t, double> shares_;  // of those that left: of the best's speed at that time
};

class Hunt {
 public:
  Hunt(const VariantSpace& space, const std::string& choice, const Racecourse& course,
       const HuntOptions& options)
      : space_(space),
        course_(course),
        options_(options),
        random_(options.seed, 1),
        search_(space.space, options.seed, kTrialsExpected),
        workshop_(course.workshop ? course.workshop() : open_shelf(options.racer_count)) {
    state_.choice = choice;
    state_.variant = choice;
    state_.space_size = space.names.size();
    if (const std::optional<std::size_t> own = space.find(choice)) search_.tell(*own, 1);
    take_up();
  }

  Catch run() {
    do options_.watch(state_);
    while (race());
    workshop_.reset();  // nobody compiles while the referee listens
    Ruling ruling = confirm();
    return {std::move(state_), std::move(ruling)};
  }

 private:
  struct Begun {
    std::size_t point = 0;
    double seconds = 0;  // when
  };

  double passed() const { return options_.earlier_seconds + course_.seconds(); }
  double search_seconds() const { return kSearchShare * options_.seconds - passed(); }
  // Until a race must begin that is to end in time, if it takes as long as the one before.
  double seconds_to_begin() const { return search_seconds() - race_seconds_; }
  // There is one race at least: a plan that nothing was tried for says nothing.
  bool is_over() const { return has_raced_ && seconds_to_begin() <= 0; }
  bool has_leader() const { return state_.variant != state_.choice; }

  // Names that a program of another version had are passed over.
  void take_up() {
    state_.trace = options_.earlier_trace;
    for (const Trial& trial : options_.earlier) {
      const std::optional<std::size_t> point = space_.find(trial.variant);
      if (!point) continue;
      note(*point, trial.speedup);
      lead(*point, trial.speedup, state_.raced_speedup);
    }
  }

  void note(std::size_t point, double speedup) {
    ++state_.tried_count;
    state_.trials.push_back({space_.names[point], speedup});
    search_.tell(point, speedup > 0 ? 1 / speedup : std::numeric_limits<double>::infinity());
  }

  // Whether the point is better than that by more than chance has it now and then.
  bool lead(std::size_t point, double speedup, double best) {
    if (speedup <= kLead * best) return false;
    state_.variant = space_.names[point];
    state_.raced_speedup = speedup;
    leader_speedups_.clear();
    return true;
  }

  // One more race; false when there is nobody left to race, or no time to.
  bool race() {
    if (is_over()) return false;
    fill_workshop();
    const std::unique_ptr<Track> track = course_.open_track();
    track->enter(state_.choice);
    const std::size_t staying = has_leader() ? 2 : 1;
    if (has_leader()) track->enter(state_.variant);
    const std::vector<std::size_t> points = candidates(*track);
    if (points.empty() || (has_raced_ && search_seconds() <= 0)) return false;
    const double begin = passed();
    Race race(*track, staying + points.size());
    learn(points, staying, race.run(staying, random_, [this] { return search_seconds() <= 0; }));
    if (state_.choice_us == 0) state_.choice_us = race.first_us();
    has_raced_ = true;
    race_seconds_ = passed() - begin;
    return true;
  }

  void learn(const std::vector<std::size_t>& points, std::size_t staying,
             const std::vector<double>& speedups) {
    if (has_leader()) believe_leader(speedups[1]);
    double best = speedups[staying - 1];
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double speedup = speedups[staying + i];
      note(points[i], speedup);
      if (lead(points[i], speedup, best)) best = speedup / kLead;
    }
    state_.trace.push_back({passed(), state_.tried_count, state_.raced_speedup});
  }

  // Who does not run is told so to the search, which proposes others.
  std::vector<std::size_t> candidates(Track& track) {
    std::vector<std::size_t> points;
    while (points.size() < options_.racer_count) {
      fill_workshop();
      const std::vector<std::string> ready =
          take(options_.racer_count - points.size(), /*at_least_one=*/points.empty());
      if (ready.empty()) break;
      for (const std::string& variant : ready) {
        const Begun begun = begun_.extract(variant).mapped();
        making_seconds_ = passed() - begun.seconds;
        if (track.enter(variant)) {
          points.push_back(begun.point);
        } else {
          note(begun.point, 0);
        }
      }
    }
    if (course_.workshop) fill_workshop();  // it works while they race
    return points;
  }

  std::vector<std::string> take(std::size_t count, bool at_least_one) {
    std::vector<std::string> ready = workshop_->take(count, seconds_to_begin());
    if (!ready.empty() || has_raced_ || !at_least_one) return ready;
    return workshop_->take(1, std::numeric_limits<double>::infinity());
  }

  // Nothing is begun that would be ready too late.
  void fill_workshop() {
    if (has_raced_ && seconds_to_begin() <= making_seconds_) return;
    while (begun_.size() < workshop_->capacity()) {
      const std::optional<std::size_t> point =
          options_.at_random ? search_.next_at_random() : search_.next();
      if (!point) return;
      begun_.emplace(space_.names[*point], Begun{*point, passed()});
      workshop_->begin(space_.names[*point]);
    }
  }

  // Whoever takes the lead was lucky as well as fast; only the races after that say how fast.
  void believe_leader(double speedup) {
    leader_speedups_.push_back(speedup);
    state_.raced_speedup = measure::median(leader_speedups_);
  }

  // The referee's word against the engine's choice, in fresh processes and with all its checks.
  Ruling confirm() {
    if (!has_leader() || state_.raced_speedup < kWorthAMatch) {
      state_.variant = state_.choice;
      return {.reason =
                  fmt::format("no variant of the {} tried was faster by 1 %", state_.tried_count)};
    }
    state_.at_the_referee = true;
    options_.watch(state_);
    return course_.judge(state_.variant, std::max(kMatchSecondsMin, options_.seconds - passed()));
  }

  const VariantSpace& space_;
  const Racecourse& course_;
  const HuntOptions& options_;
  Random random_;
  Search search_;
  std::unique_ptr<Workshop> workshop_;
  std::map<std::string, Begun> begun_;  // in the workshop
  std::vector<double> leader_speedups_;
  bool has_raced_ = false;
  double race_seconds_ = 0;    // the last race took
  double making_seconds_ = 0;  // until the last variant that was taken was taken
  HuntState state_;
};

}  // namespace

Catch hunt(const VariantSpace& space, const std::string& choice, const Racecourse& course,
           const HuntOptions& options) {
  return Hunt(space, choice, course, options).run();
}

}  // namespace thresher::tune
