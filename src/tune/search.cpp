// SPDX-License-Identifier: Apache-2.0
#include "tune/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assert.hpp"

namespace thresher::tune {
namespace {

constexpr std::size_t kFavourites = 12;
constexpr std::size_t kRandomOpeningMin = 12;
constexpr std::size_t kRandomOpeningPart = 5;  // of the trials expected
// A point whose trees disagree may be better than they say on average, by so much of that.
constexpr double kOptimism = 2;
// A new forest for every so many of what it was grown from: an old one is nearly as good.
constexpr std::size_t kGrowth = 20;
// Every so many turns any point at all.
constexpr int kTurnsPerRandom = 8;

std::size_t knobs_apart(const Point& a, const Point& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

}  // namespace

Search::Search(const Space& space, std::uint64_t seed, std::size_t trials_expected)
    : space_(space),
      random_(seed),
      asked_(space.points.size(), false),
      best_time_(std::numeric_limits<double>::infinity()) {
  THRESHER_ASSERT(!space.points.empty());
  for (std::size_t i = 0; i < space.points.size(); ++i) {
    Features& features = features_.emplace_back(space.points[i].begin(), space.points[i].end());
    if (!space.guesses.empty()) features.push_back(static_cast<float>(std::log(space.guesses[i])));
  }
  plan_opening(std::max<std::size_t>(kRandomOpeningMin, trials_expected / kRandomOpeningPart));
}

// Of the model's favourites those that differ in two knobs at least: neighbours come later anyway.
void Search::plan_opening(std::size_t random_count) {
  for (std::size_t i = 0; i < random_count; ++i) {
    opening_.push_back(random_.below(space_.points.size()));
  }
  if (space_.guesses.empty()) return;
  std::vector<std::size_t> by_guess(space_.points.size());
  std::iota(by_guess.begin(), by_guess.end(), std::size_t{0});
  std::stable_sort(by_guess.begin(), by_guess.end(), [&](std::size_t a, std::size_t b) {
    return space_.guesses[a] < space_.guesses[b];
  });
  std::vector<std::size_t> favourites;
  for (const std::size_t point : by_guess) {
    if (favourites.size() == kFavourites) break;
    const bool is_new = std::all_of(favourites.begin(), favourites.end(), [&](std::size_t other) {
      return knobs_apart(space_.points[point], space_.points[other]) > 1;
    });
    if (is_new) favourites.push_back(point);
  }
  opening_.insert(opening_.end(), favourites.rbegin(), favourites.rend());
}

std::optional<std::size_t> Search::next() {
  std::optional<std::size_t> chosen;
  while (!chosen && !opening_.empty()) {
    if (!asked_[opening_.back()]) chosen = opening_.back();
    opening_.pop_back();
  }
  if (!chosen && !told_.empty()) {
    if (told_.size() >= fitted_count_ + 1 + fitted_count_ / kGrowth) fit();
    ++turn_;
    switch (turn_ % 4) {
      case 0:
        chosen = best_hope();
        break;
      case 1:
        chosen = best_neighbour(best_);
        break;
      case 2:
        chosen = best_neighbour(good_at_random());
        break;
      default:
        chosen = turn_ % kTurnsPerRandom == 3 ? untried_at_random() : best_neighbour(best_);
    }
    if (!chosen) chosen = best_hope();
  }
  if (!chosen) chosen = untried_at_random();
  if (!chosen) return std::nullopt;
  asked_[*chosen] = true;
  ++asked_count_;
  return chosen;
}

void Search::tell(std::size_t point, double time) {
  if (!asked_[point]) {
    asked_[point] = true;
    ++asked_count_;
  }
  if (time < best_time_) {
    best_ = point;
    best_time_ = time;
  }
  if (std::isfinite(time)) told_.push_back({point, std::log(time)});
}

void Search::fit() {
  fitted_count_ = told_.size();
  std::vector<const Features*> rows;
  std::vector<double> values;
  for (const Told& told : told_) {
    rows.push_back(&features_[told.point]);
    values.push_back(told.log_time);
  }
  forest_.fit(rows, values, random_);
}

double Search::hope(std::size_t point) const {
  const Forest::Prediction predicted = forest_.predict(features_[point]);
  return predicted.mean - kOptimism * predicted.sd;
}

std::optional<std::size_t> Search::untried_at_random() {
  const std::size_t left = asked_.size() - asked_count_;
  if (left == 0) return std::nullopt;
  std::size_t skip = random_.below(left);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i]) continue;
    if (skip == 0) return i;
    --skip;
  }
  return std::nullopt;
}

std::optional<std::size_t> Search::best_hope() const {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i]) continue;
    const double hoped = hope(i);
    if (best && hoped >= least) continue;
    best = i;
    least = hoped;
  }
  return best;
}

// The best of all that have one value of one knob, so that there is more than one place to look
// around: what is best by itself may lie in a corner that the best of all has nothing to do with.
std::size_t Search::good_at_random() {
  const std::size_t knob = random_.below(space_.knobs.size());
  const int value = space_.points[told_[random_.below(told_.size())].point][knob];
  const Told* best = nullptr;
  for (const Told& told : told_) {
    if (space_.points[told.point][knob] != value) continue;
    if (best == nullptr || told.log_time < best->log_time) best = &told;
  }
  return best->point;
}

std::optional<std::size_t> Search::best_neighbour(std::size_t centre) const {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i] || knobs_apart(space_.points[i], space_.points[centre]) != 1) continue;
    const double hoped = hope(i);
    if (best && hoped >= least) continue;
    best = i;
    least = hoped;
  }
  return best;
}

}  // namespace thresher::tune
