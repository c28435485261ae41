// SPDX-License-Identifier: Apache-2.0
#include "tune/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace thresher::tune {
namespace {

// Four knobs of six values each, a bowl whose bottom no single knob shows: the third and the fourth
// want to be alike.
struct Bowl {
  Bowl() {
    for (int a = 0; a < 6; ++a) {
      space.knobs.push_back("k");
      space.values.emplace_back(6, "v");
      if (space.knobs.size() == 4) break;
    }
    for (int i = 0; i < 1296; ++i) {
      const Point point{i / 216, i / 36 % 6, i / 6 % 6, i % 6};
      space.points.push_back(point);
      times.push_back(1 + 0.1 * std::abs(point[0] - 4) + 0.05 * std::abs(point[1] - 1) +
                      0.07 * std::abs(point[2] - point[3]) + 0.03 * std::abs(point[2] - 5));
    }
  }

  Space space;
  std::vector<double> times;
};

double best_after(const Bowl& bowl, std::uint64_t seed, int trial_count) {
  Search search(bowl.space, seed, static_cast<std::size_t>(trial_count));
  for (int i = 0; i < trial_count; ++i) {
    const std::optional<std::size_t> point = search.next();
    if (!point) break;
    search.tell(*point, bowl.times[*point]);
  }
  return search.best_time();
}

TEST(Search, ComesWithinFivePercentByOneTrialInTwenty) {
  const Bowl bowl;
  const double least = *std::min_element(bowl.times.begin(), bowl.times.end());
  int found_count = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    found_count += best_after(bowl, seed, 65) < 1.05 * least ? 1 : 0;
  }
  EXPECT_GE(found_count, 14);  // at random it would be 3 of 20
}

TEST(Search, TakesAModelAtItsWordFirst) {
  Bowl bowl;
  bowl.space.guesses = bowl.times;
  EXPECT_EQ(best_after(bowl, 1, 1), *std::min_element(bowl.times.begin(), bowl.times.end()));
}

TEST(Search, IsNotLedAstrayByAModelForLong) {
  Bowl bowl;
  for (const double time : bowl.times) bowl.space.guesses.push_back(1 / time);
  const double least = *std::min_element(bowl.times.begin(), bowl.times.end());
  EXPECT_LT(best_after(bowl, 1, 120), 1.05 * least);
}

// Of the sizes 16, 32, 48, ... 512 only powers of two are any good, in a few settings of others.
TEST(Search, KnowsThatMachinesLikeRoundNumbers) {
  Space space{.knobs = {"size", "a", "b"}, .values = {{}, {}, {}}, .points = {}, .guesses = {}};
  std::vector<double> times;
  for (int i = 0; i < 32; ++i) {
    const int size = 16 * (i + 1);
    space.values[0].push_back(std::to_string(size));
    for (int j = 0; j < 36; ++j) {
      space.points.push_back({i, j / 6, j % 6});
      const bool round = (size & (size - 1)) == 0;
      times.push_back((round ? 1.0 : 2.0) * (1 + 0.02 * std::abs(j / 6 - 4) + 0.01 * (j % 6)) *
                      (1 + 0.1 * std::abs(std::log2(size / 128.0))));
    }
  }
  for (int j = 0; j < 6; ++j) {
    space.values[1].push_back("a" + std::to_string(j));
    space.values[2].push_back("b" + std::to_string(j));
  }
  int found_count = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Search search(space, seed, 57);
    for (int i = 0; i < 57; ++i) {
      const std::size_t point = search.next().value();
      search.tell(point, times[point]);
    }
    found_count += search.best_time() < 1.03 ? 1 : 0;
  }
  EXPECT_GE(found_count, 16);
}

TEST(Search, IsDoneWithASpaceOfOnePoint) {
  const Space space{.knobs = {}, .values = {}, .points = {{}}, .guesses = {}};
  Search search(space, 1, 10);
  search.tell(search.next().value(), 1);
  EXPECT_FALSE(search.next());
  EXPECT_FALSE(search.next());
}

TEST(Search, TriesEveryPointOnceAndThenNone) {
  const Bowl bowl;
  Search search(bowl.space, 3, 100);
  std::set<std::size_t> tried;
  while (const std::optional<std::size_t> point = search.next()) {
    EXPECT_TRUE(tried.insert(*point).second);
    search.tell(*point, 1);
  }
  EXPECT_EQ(tried.size(), bowl.space.points.size());
}

TEST(Search, ByLuckAloneTriesEveryPointOnceToo) {
  const Bowl bowl;
  Search search(bowl.space, 3, 100);
  std::set<std::size_t> tried;
  while (const std::optional<std::size_t> point = search.next_at_random()) tried.insert(*point);
  EXPECT_EQ(tried.size(), bowl.space.points.size());
}

TEST(Search, GoesOnWhereNothingRuns) {
  const Bowl bowl;
  Search search(bowl.space, 3, 100);
  for (int i = 0; i < 50; ++i) {
    search.tell(search.next().value(), std::numeric_limits<double>::infinity());
  }
  const std::size_t point = search.next().value();
  search.tell(point, 2.5);
  EXPECT_EQ(search.best(), point);
  EXPECT_EQ(search.best_time(), 2.5);
}

TEST(Search, IsRepeatable) {
  const Bowl bowl;
  Search one(bowl.space, 9, 60);
  Search two(bowl.space, 9, 60);
  for (int i = 0; i < 60; ++i) {
    const std::size_t point = one.next().value();
    ASSERT_EQ(point, two.next().value());
    one.tell(point, bowl.times[point]);
    two.tell(point, bowl.times[point]);
  }
}

}  // namespace
}  // namespace thresher::tune
