// SPDX-License-Identifier: Apache-2.0
#include "tune/search.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "assert.hpp"

namespace thresher::tune {
namespace {

constexpr std::size_t kFavourites = 12;
constexpr std::size_t kRandomOpeningMin = 12;
constexpr std::size_t kRandomOpeningPart = 10;  // of the trials expected
// A point whose trees disagree may be better than they say on average, by so much of that.
constexpr double kOptimism = 2;
// A new forest for every so many of what it was grown from: an old one is nearly as good.
constexpr std::size_t kGrowth = 20;
// Every so many turns any point at all.
constexpr int kTurnsPerRandom = 16;
// The slowest fifth is slow. How slow says nothing about what is fast, and trees would spend their
// cuts on it.
constexpr double kSlowest = 0.8;

std::size_t knobs_apart(const Point& a, const Point& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

// How often a number can be halved; nothing for what is no whole number above 0.
std::optional<int> halvings(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return std::countr_zero(number);
}

// Machines like round numbers: 128 has more in common with 64 than with 112. Empty where values are
// no sizes. Where all are powers of two this is their order once more, and the trees look at such a
// knob twice, which does no harm.
std::vector<int> roundness(const std::vector<std::string>& values) {
  if (values.size() <= 2) return {};
  std::vector<int> round;
  for (const std::string& value : values) {
    const std::optional<int> count = halvings(value);
    if (!count) return {};
    round.push_back(*count);
  }
  return round;
}

std::vector<Features> features_of(const Space& space) {
  std::vector<std::vector<int>> round;
  for (const std::vector<std::string>& values : space.values) round.push_back(roundness(values));
  std::vector<Features> features;
  for (std::size_t i = 0; i < space.points.size(); ++i) {
    const Point& point = space.points[i];
    Features& one = features.emplace_back(point.begin(), point.end());
    for (std::size_t knob = 0; knob < point.size(); ++knob) {
      if (round[knob].empty()) continue;
      one.push_back(static_cast<float>(round[knob][static_cast<std::size_t>(point[knob])]));
    }
    if (!space.guesses.empty()) one.push_back(static_cast<float>(std::log(space.guesses[i])));
  }
  return features;
}

}  // namespace

Search::Search(const Space& space, std::uint64_t seed, std::size_t trials_expected)
    : space_(space),
      random_(seed),
      features_(features_of(space)),
      asked_(space.points.size(), false),
      hopes_(space.points.size(), 0),
      best_time_(std::numeric_limits<double>::infinity()) {
  THRESHER_ASSERT(!space.points.empty());
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
  if (asked_count_ == asked_.size()) return std::nullopt;
  std::optional<std::size_t> chosen;
  while (!chosen && !opening_.empty()) {
    if (!asked_[opening_.back()]) chosen = opening_.back();
    opening_.pop_back();
  }
  if (!chosen && !told_.empty()) {
    if (told_.size() >= fitted_count_ + 1 + fitted_count_ / kGrowth) fit();
    ++turn_;
    if (turn_ % kTurnsPerRandom == 3) {
      chosen = untried_at_random();
    } else if (turn_ % 4 == 0) {
      chosen = best_hope();
    } else {
      chosen = best_neighbour(turn_ % 4 == 1 ? best_ : good_at_random());
    }
    if (!chosen) chosen = best_hope();
  }
  if (!chosen) chosen = untried_at_random();
  asked_[*chosen] = true;
  ++asked_count_;
  return chosen;
}

std::optional<std::size_t> Search::next_at_random() {
  if (asked_count_ == asked_.size()) return std::nullopt;
  const std::size_t chosen = untried_at_random();
  asked_[chosen] = true;
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
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const double slow =
      sorted[static_cast<std::size_t>(kSlowest * static_cast<double>(sorted.size()))];
  for (double& value : values) value = std::min(value, slow);
  forest_.fit(rows, values, random_);
  for (std::size_t i = 0; i < hopes_.size(); ++i) {
    if (asked_[i]) continue;
    const Forest::Prediction predicted = forest_.predict(features_[i]);
    hopes_[i] = predicted.mean - kOptimism * predicted.sd;
  }
}

// There must be one.
std::size_t Search::untried_at_random() {
  std::size_t skip = random_.below(asked_.size() - asked_count_);
  std::size_t point = 0;
  while (asked_[point] || skip > 0) {
    if (!asked_[point]) --skip;
    ++point;
  }
  return point;
}

std::optional<std::size_t> Search::best_hope() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i]) continue;
    if (best && hopes_[i] >= hopes_[*best]) continue;
    best = i;
  }
  return best;
}

// The best of all that have one value of one knob, so that there is more than one place to look
// around: what is best by itself may lie in a corner that the best of all has nothing to do with.
// Switches matter more than sizes: a knob is taken the more often, the fewer values it has.
std::size_t Search::good_at_random() {
  std::size_t knob = random_.below(space_.knobs.size());
  while (random_.below(space_.values[knob].size()) > 1) knob = random_.below(space_.knobs.size());
  const auto value = static_cast<int>(random_.below(space_.values[knob].size()));
  const Told* best = nullptr;
  for (const Told& told : told_) {
    if (space_.points[told.point][knob] != value) continue;
    if (best == nullptr || told.log_time < best->log_time) best = &told;
  }
  return best == nullptr ? best_ : best->point;
}

std::optional<std::size_t> Search::best_neighbour(std::size_t centre) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i] || knobs_apart(space_.points[i], space_.points[centre]) != 1) continue;
    if (best && hopes_[i] >= hopes_[*best]) continue;
    best = i;
  }
  return best;
}

}  // namespace thresher::tune
