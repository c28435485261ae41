// SPDX-License-Identifier: Apache-2.0
// The search on the spaces that are shipped, whose every point somebody has measured.
#include "tune/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "measure/statistics.hpp"

namespace thresher::tune {
namespace {

RecordedSpace shipped(const std::string& name) {
  return read_recorded_space(THRESHER_SOURCE_DIR "/results/spaces/" + name + ".json");
}

TEST(Replay, NeverGetsWorseAndEndsAtTheOptimum) {
  RecordedSpace small = shipped("pnpoly_rtx3090");
  small.space.points.resize(200);
  small.times.resize(200);
  small.least = *std::min_element(small.times.begin(), small.times.end());
  for (const Strategy strategy : {Strategy::kSearch, Strategy::kRandom}) {
    const std::vector<double> shares = replay(small, strategy, 1000, 1);
    ASSERT_EQ(shares.size(), 200U);
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_EQ(shares.back(), 1);
    EXPECT_EQ(replay(small, strategy, 1000, 1), shares) << "repeatable";
    EXPECT_NE(replay(small, strategy, 1000, 2), shares);
  }
}

// docs/tuning.md has the figures of 100 runs. On the A100 the optimum stands alone: of few runs the
// median may be the second best, which has 0.93 of it.
TEST(Replay, FindsTheOptimumOfEveryShippedSpaceWithATwentiethOfIt) {
  const std::pair<const char*, double> spaces[] = {
      {"convolution_a100", 0.93}, {"convolution_mi250x", 0.99}, {"pnpoly_rtx3090", 0.99}};
  for (const auto& [name, least] : spaces) {
    const RecordedSpace recorded = shipped(name);
    const std::size_t trial_count = recorded.times.size() / 20;
    const ReplayFigures search = replay_often(recorded, Strategy::kSearch, trial_count, 15, 1);
    const ReplayFigures random = replay_often(recorded, Strategy::kRandom, trial_count, 15, 1);
    EXPECT_EQ(search.median_so_far.size(), trial_count);
    EXPECT_EQ(search.median_so_far.back(), measure::median(search.shares));
    EXPECT_GE(measure::median(search.shares), least) << name;
    EXPECT_LT(measure::median(random.shares), measure::median(search.shares)) << name;
  }
}

}  // namespace
}  // namespace thresher::tune
