// SPDX-License-Identifier: Apache-2.0
#include "tune/hunt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

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
// Whoever was ahead once was lucky as well as fast. Only the races after that count: it has to be
// ahead in the median of so many, and who is so much behind before that is out.
constexpr std::size_t kProof = 3;
constexpr double kRefuted = 1.1;
// Of those that were not ahead, so many race again when nobody else is left.
constexpr std::size_t kSecondLooks = 24;

// Somebody who was ahead, and what it showed in the races after that.
struct Standing {
  double raced = 0;                   // when it was ahead
  std::vector<double> speedups = {};  // over the choice, one for each race since

  bool is_proven() const { return speedups.size() >= kProof; }
  double believed() const { return speedups.empty() ? raced : measure::median(speedups); }
};

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

  // Names that a program of another version had are passed over. Of those that were ahead the best
  // are looked at again: more would keep new ones waiting.
  void take_up() {
    state_.trace = options_.earlier_trace;
    std::vector<std::pair<double, std::size_t>> ahead;
    for (const Trial& trial : options_.earlier) {
      const std::optional<std::size_t> point = space_.find(trial.variant);
      if (!point) continue;
      note(*point, trial.speedup);
      if (trial.speedup > kLead) ahead.emplace_back(trial.speedup, *point);
    }
    std::sort(ahead.rbegin(), ahead.rend());
    ahead.resize(std::min(ahead.size(), 2 * options_.racer_count));
    for (const auto& [speedup, point] : ahead) standing_[point] = {.raced = speedup};
  }

  void note(std::size_t point, double speedup) {
    ++state_.tried_count;
    state_.trials.push_back({space_.names[point], speedup});
    search_.tell(point, speedup > 0 ? 1 / speedup : std::numeric_limits<double>::infinity());
  }

  // One more race; false when there is nobody left to race, or no time to.
  bool race() {
    if (is_over()) return false;
    fill_workshop();
    const std::unique_ptr<Track> track = course_.open_track();
    track->enter(state_.choice);
    const bool has_leader = leader_ && track->enter(space_.names[*leader_]);
    const std::vector<std::size_t> rivals = enter_rivals(*track);
    const std::vector<std::size_t> fresh = candidates(*track, options_.racer_count - rivals.size());
    if (has_raced_ && search_seconds() <= 0) return false;
    if (rivals.empty() && fresh.empty()) return look_again();
    const double begin = passed();
    const std::size_t staying = has_leader ? 2 : 1;
    Race race(*track, staying + rivals.size() + fresh.size());
    learn(rivals, fresh, race.run(staying, random_, [this] { return search_seconds() <= 0; }),
          has_leader);
    if (state_.choice_us == 0) state_.choice_us = race.first_us();
    has_raced_ = true;
    race_seconds_ = passed() - begin;
    return true;
  }

  // Everything was tried and there is time left: one race may have been bad luck too, so those that
  // did best in theirs become rivals. Once.
  bool look_again() {
    if (std::exchange(has_looked_again_, true)) return false;
    std::vector<std::pair<double, std::size_t>> best;
    for (const Trial& trial : state_.trials) {
      const std::size_t point = *space_.find(trial.variant);
      if (trial.speedup > 0 && !standing_.contains(point)) best.emplace_back(trial.speedup, point);
    }
    std::sort(best.rbegin(), best.rend());
    best.resize(std::min(best.size(), kSecondLooks));
    for (const auto& [speedup, point] : best) standing_[point] = {.raced = speedup};
    return !best.empty();
  }

  // Who was ahead and is not proven, the best first. They have at most half of the places.
  std::vector<std::size_t> enter_rivals(Track& track) {
    std::vector<std::pair<double, std::size_t>> waiting;
    for (const auto& [point, one] : standing_) {
      if (!one.is_proven()) waiting.emplace_back(one.believed(), point);
    }
    std::sort(waiting.rbegin(), waiting.rend());
    std::vector<std::size_t> rivals;
    for (const auto& [believed, point] : waiting) {
      if (rivals.size() >= std::max<std::size_t>(1, options_.racer_count / 2)) break;
      if (track.enter(space_.names[point])) {
        rivals.push_back(point);
      } else {
        standing_.erase(point);
      }
    }
    return rivals;
  }

  // In the order of entering: the choice, the leader, its rivals, and who is new.
  void learn(const std::vector<std::size_t>& rivals, const std::vector<std::size_t>& fresh,
             const std::vector<double>& speedups, bool has_leader) {
    std::size_t next = 1;
    if (has_leader) standing_.at(*leader_).speedups.push_back(speedups[next++]);
    const double to_beat = std::max(1.0, speedups[next - 1]);
    const double best = leader_ ? std::max(1.0, standing_.at(*leader_).believed()) : 1;
    for (const std::size_t point : rivals) {
      Standing& rival = standing_.at(point);
      rival.speedups.push_back(speedups[next++]);
      const double behind = rival.is_proven() ? 1 : kRefuted;
      if (rival.believed() * behind <= best) standing_.erase(point);
    }
    for (const std::size_t point : fresh) {
      const double speedup = speedups[next++];
      note(point, speedup);
      if (speedup > kLead * to_beat) standing_[point] = {.raced = speedup};
    }
    crown();
    state_.trace.push_back({passed(), state_.tried_count, state_.raced_speedup});
  }

  // The best of those that are proven leads. Its races go on, and when they show that it was lucky
  // all the same, another one takes its place, or the engine's choice.
  void crown() {
    leader_.reset();
    state_.raced_speedup = 1;
    for (const auto& [point, one] : standing_) {
      if (!one.is_proven() || one.believed() <= state_.raced_speedup) continue;
      leader_ = point;
      state_.raced_speedup = one.believed();
    }
    state_.variant = leader_ ? space_.names[*leader_] : state_.choice;
  }

  // Who does not run is told so to the search, which proposes others.
  std::vector<std::size_t> candidates(Track& track, std::size_t count) {
    std::vector<std::size_t> points;
    while (points.size() < count) {
      fill_workshop();
      const std::vector<std::string> ready =
          take(count - points.size(), /*at_least_one=*/points.empty());
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

  // Where time was too short to prove anybody, whoever was ahead may still be what it seems.
  void take_unproven() {
    for (const auto& [point, one] : standing_) {
      if (one.is_proven() || one.believed() <= state_.raced_speedup) continue;
      state_.variant = space_.names[point];
      state_.raced_speedup = one.believed();
    }
  }

  // The referee's word against the engine's choice, in fresh processes and with all its checks.
  Ruling confirm() {
    if (!leader_) take_unproven();
    if (state_.raced_speedup < kWorthAMatch) {
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
  std::map<std::string, Begun> begun_;        // in the workshop
  std::map<std::size_t, Standing> standing_;  // by point: who was ahead, and was not refuted
  std::optional<std::size_t> leader_;         // the best of those that are proven
  bool has_raced_ = false;
  bool has_looked_again_ = false;
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
