// SPDX-License-Identifier: Apache-2.0
// A small layer, timed on the host's clock; gpu_clock_test.cpp has it on a GPU's.
#include "measure/layer_trial.hpp"

#include <gtest/gtest.h>

namespace thresher::measure {
namespace {

class LayerTrialTest : public ::testing::Test {
 protected:
  LayerTiming time(Surroundings surroundings, std::int64_t tokens) const {
    LayerTrial trial(engine_, layer_model_from_text("64x32x6x2"),
                     {.tokens_max = 5, .surroundings = surroundings, .seconds = 0.01});
    return trial.run(tokens);
  }

  const Engine engine_{{.thread_count = 1}};
};

TEST_F(LayerTrialTest, CallsFollowEachOtherIfNobodySaysOtherwise) {
  EXPECT_EQ(LayerTrialOptions().surroundings, Surroundings::kBackToBack);
  EXPECT_EQ(time(Surroundings::kBackToBack, 1).timed, "back to back");
  EXPECT_EQ(time(Surroundings::kAlone, 1).timed, "single calls");
}

TEST_F(LayerTrialTest, CountsWhatACallReadsAndComputes) {
  const LayerTiming timing = time(Surroundings::kBackToBack, 5);
  EXPECT_EQ(timing.token_count, 5);
  EXPECT_EQ(timing.rows, 10);
  EXPECT_GE(timing.experts_touched, 2);
  EXPECT_LE(timing.experts_touched, 6);
  EXPECT_EQ(timing.operations, 10 * 2 * 3 * 64 * 32);
  EXPECT_GT(timing.us.median, 0);
  EXPECT_GT(timing.products_us.median, 0);
  EXPECT_GT(timing.host_us, 0);
  EXPECT_LT(timing.host_us, timing.us.median);
  EXPECT_GT(timing.sort_us, 0);
  EXPECT_LT(timing.sort_us, timing.us.median);
  EXPECT_GT(timing.error_over_bound, 0);
  EXPECT_LE(timing.error_over_bound, 1);
}

}  // namespace
}  // namespace thresher::measure
