// SPDX-License-Identifier: Apache-2.0
// The match itself, with contestants that are right, wrong or lazy.
#include "cli/bench_match.hpp"

#include <gtest/gtest.h>

#include "measure/right_answer.hpp"

namespace thresher::measure {
namespace {

class MatchTest : public ::testing::Test {
 protected:
  Contestant contestant(const std::string& name, std::function<void()> run,
                        GuardedOutputs& outputs) {
    return {.name = name, .problem = problem_, .run = std::move(run), .outputs = &outputs};
  }

  const Problem problem_{.name = "tiny", .groups = {{.m = 2, .n = 5, .k = 16}}};
  const Inputs inputs_ = make_inputs(problem_, InputFamily::kNatural, 5);
  GuardedOutputs first_{problem_, {}};
  GuardedOutputs second_{problem_, {}};
};

TEST_F(MatchTest, EveryContestantPlaysEveryRound) {
  int first_calls = 0;
  int second_calls = 0;
  const std::vector<Timing> timings = play_match(
      {contestant(
           "first", [&] { ++first_calls, write_right_answer(problem_, inputs_, first_); }, first_),
       contestant(
           "second", [&] { ++second_calls, write_right_answer(problem_, inputs_, second_); },
           second_)},
      inputs_, {.seconds = 0.001, .seed = 3});
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].name, "first");
  EXPECT_GE(timings[0].sample_count, 6);
  EXPECT_EQ(timings[0].sample_count, timings[1].sample_count);
  EXPECT_EQ(first_calls, second_calls);
  EXPECT_GT(first_calls, timings[0].sample_count) << "warm-ups are not samples";
  EXPECT_EQ(timings[0].first_failure, "");
  EXPECT_LE(timings[0].max_error_over_bound, 1);
}

// Outputs are poisoned before every timed call, so an answer left over from an earlier one is none.
TEST_F(MatchTest, CatchesWhoStopsWorking) {
  int calls = 0;
  const std::vector<Timing> timings =
      play_match({contestant(
                     "lazy",
                     [&] {
                       if (++calls < 5) write_right_answer(problem_, inputs_, first_);
                     },
                     first_)},
                 inputs_, {.seconds = 0.001, .seed = 3});
  EXPECT_NE(timings[0].first_failure, "");
  EXPECT_GT(timings[0].max_error_over_bound, 1);
}

TEST_F(MatchTest, CatchesWritesOutside) {
  const std::vector<Timing> timings =
      play_match({contestant(
                     "careless",
                     [&] {
                       write_right_answer(problem_, inputs_, first_);
                       element_address(problem_, first_, 0, 1, 5)[0] ^= 1;
                     },
                     first_)},
                 inputs_, {.seconds = 0.001, .seed = 3});
  EXPECT_NE(timings[0].first_failure.find("wrote outside"), std::string::npos);
}

}  // namespace
}  // namespace thresher::measure
