// SPDX-License-Identifier: Apache-2.0
#include "gemm/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace thresher {
namespace {

Problem sampled_problem(std::vector<Group> groups) {
  return {"p", Op::kGemm, Activations::kNvfp4, Output::kFp16, std::move(groups)};
}

std::size_t count_of(const std::vector<std::vector<Place>>& places) {
  std::size_t count = 0;
  for (const auto& group_places : places) count += group_places.size();
  return count;
}

TEST(Sample, AlwaysHasTheCorners) {
  const Problem problem = sampled_problem({{9, 5, 16}, {0, 5, 16}, {1, 8, 16}, {1, 1, 16}});
  const auto places = sample_places(problem, 1, 42);
  EXPECT_EQ(places[0], (std::vector<Place>{{0, 0}, {0, 8}, {4, 0}, {4, 8}}));
  EXPECT_TRUE(places[1].empty());
  EXPECT_EQ(places[2], (std::vector<Place>{{0, 0}, {7, 0}}));
  EXPECT_EQ(places[3], (std::vector<Place>{{0, 0}}));
}

TEST(Sample, StaysInsideAndReachesEveryGroup) {
  const Problem problem = sampled_problem({{100, 300, 16}, {0, 7, 16}, {300, 100, 16}});
  const auto places = sample_places(problem, 2000, 42);
  EXPECT_GT(count_of(places), 1900u);
  EXPECT_LE(count_of(places), 2000u);
  EXPECT_GT(places[0].size(), 800u);
  EXPECT_GT(places[2].size(), 800u);
  for (std::size_t g = 0; g < places.size(); ++g) {
    EXPECT_TRUE(std::is_sorted(places[g].begin(), places[g].end()));
    EXPECT_EQ(std::adjacent_find(places[g].begin(), places[g].end()), places[g].end());
    for (const Place& place : places[g]) {
      EXPECT_LT(place.row, problem.groups[g].m);
      EXPECT_LT(place.column, problem.groups[g].n);
    }
  }
}

TEST(Sample, ReachesEveryElementOfSmallGroups) {
  const Problem problem = sampled_problem({{3, 4, 16}, {0, 9, 16}, {5, 1, 16}});
  const auto places = sample_places(problem, 1000, 1);
  EXPECT_EQ(places[0].size(), 12u);
  EXPECT_EQ(places[1].size(), 0u);
  EXPECT_EQ(places[2], (std::vector<Place>{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}}));
}

TEST(Sample, DependsOnTheSeed) {
  const Problem problem = sampled_problem({{100, 100, 16}});
  EXPECT_EQ(sample_places(problem, 50, 1), sample_places(problem, 50, 1));
  EXPECT_NE(sample_places(problem, 50, 1), sample_places(problem, 50, 2));
}

TEST(Sample, OfNothingIsEmpty) {
  EXPECT_EQ(count_of(sample_places(sampled_problem({{0, 4, 16}, {0, 4, 16}}), 100, 1)), 0u);
}

}  // namespace
}  // namespace thresher
