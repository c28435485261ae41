// SPDX-License-Identifier: Apache-2.0
// Which point of a space of settings to try next. The search asks for one point at a time and is
// told what it took; it knows neither clocks nor variants, so a recorded space serves as well as a
// machine. docs/tuning.md says what it does and how it was measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gemm/random.hpp"
#include "tune/forest.hpp"

namespace thresher::tune {

// A point is one value of every knob, by index.
using Point = std::vector<int>;

struct Space {
  std::vector<std::string> knobs;
  std::vector<std::vector<std::string>> values;  // of each knob, neighbours side by side
  std::vector<Point> points;                     // all that are allowed
  std::vector<double> guesses;  // what a model thinks each of them takes; empty: nobody knows
};

// First the model's favourites and some points at random. Then in turn: the point that a forest
// grown from all that was told so far thinks may be the best of all; the same among the neighbours
// of the best point, which differ in one knob, and among those of the best point that has some
// value of some knob; and now and then any point at all, so that nothing is beyond reach. The
// model's guess is a feature like any knob, and so is how round a number is.
class Search {
 public:
  // `space` must outlive it, and have points. About so many trials are to be expected.
  Search(const Space& space, std::uint64_t seed, std::size_t trials_expected);

  // The next point to try, never the same twice; nothing when all have been tried.
  std::optional<std::size_t> next();
  // Any point that was not tried, for a comparison.
  std::optional<std::size_t> next_at_random();
  // Of a point that next() gave, or of any other. Infinity: it cannot be run.
  void tell(std::size_t point, double time);

  // Of what was told; there must be something finite.
  std::size_t best() const { return best_; }
  double best_time() const { return best_time_; }

 private:
  struct Told {
    std::size_t point = 0;
    double log_time = 0;
  };

  void plan_opening(std::size_t random_count);
  void fit();
  std::size_t good_at_random();
  std::size_t untried_at_random();
  std::optional<std::size_t> best_hope() const;
  std::optional<std::size_t> best_neighbour(std::size_t centre) const;

  const Space& space_;
  Random random_;
  const std::vector<Features> features_;  // of all points
  std::vector<std::size_t> opening_;      // still to be asked for, the last first
  std::vector<bool> asked_;
  std::size_t asked_count_ = 0;
  int turn_ = 0;

  std::vector<Told> told_;
  std::size_t fitted_count_ = 0;
  Forest forest_;
  std::vector<double> hopes_;  // what the forest thinks each point may take

  std::size_t best_ = 0;
  double best_time_;
};

}  // namespace thresher::tune
