// SPDX-License-Identifier: Apache-2.0
// The instrument itself, with entrants that are right, wrong or lazy, on the host's clock and on
// one that times without pauses as a GPU's does.
#include "measure/series.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "measure/right_answer.hpp"

namespace thresher::measure {
namespace {

class SeriesTest : public ::testing::Test {
 protected:
  SeriesTest() { witness_.testify(inputs_); }

  Entrant entrant(const std::string& name, std::function<void()> run, GuardedOutputs& outputs) {
    return {.name = name,
            .problem = problem_,
            .enqueue = [run = std::move(run)](std::size_t) { run(); },
            .poison = [&outputs](std::size_t, std::uint64_t seed) { outputs.poison(seed); },
            .fetch = [&outputs](std::size_t) { return outputs.views(); },
            .find_trespass = [&outputs] { return outputs.find_trespass(); }};
  }

  std::vector<Timing> play(const std::vector<Entrant>& entrants) {
    const std::unique_ptr<Clock> clock = make_clock(Engine({.thread_count = 1}), {});
    return play_series(*clock, entrants, by_witness(witness_), {.seconds = 0.001, .seed = 3});
  }

  void answer(const GuardedOutputs& outputs) { write_right_answer(problem_, inputs_, outputs); }

  const Problem problem_{.name = "tiny", .groups = {{.m = 2, .n = 5, .k = 16}}};
  const Inputs inputs_ = make_inputs(problem_, InputFamily::kNatural, 5);
  const Engine engine_{{.thread_count = 1}};
  Witness witness_{engine_, problem_, inputs_, {}};
  GuardedOutputs first_{problem_, {}};
  GuardedOutputs second_{problem_, {}};
};

TEST_F(SeriesTest, EveryEntrantPlaysEveryRound) {
  int first_calls = 0;
  int second_calls = 0;
  const std::vector<Timing> timings =
      play({entrant(
                "first", [&] { ++first_calls, answer(first_); }, first_),
            entrant(
                "second", [&] { ++second_calls, answer(second_); }, second_)});
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].name, "first");
  EXPECT_GE(timings[0].sample_count, 6);
  EXPECT_EQ(timings[0].sample_count, timings[1].sample_count);
  EXPECT_EQ(first_calls, second_calls);
  EXPECT_GT(first_calls, timings[0].sample_count) << "warm-ups are not samples";
  EXPECT_EQ(timings[0].first_failure, "");
  EXPECT_LE(timings[0].max_error_over_bound, 1);
}

// Whoever computes in another process says himself how long he took, and what asking costs is no
// part of it.
TEST_F(SeriesTest, AsksWhoComputesElsewhere) {
  int empty_calls = 0;
  int calls = 0;
  Entrant elsewhere = entrant(
      "elsewhere", [] {}, first_);
  elsewhere.enqueue = nullptr;
  elsewhere.ask_us = [&](const std::vector<std::size_t>& copies) {
    EXPECT_EQ(copies.size(), 1u);
    if (copies.front() == kForeignCall) return 30.0 + ++empty_calls % 3;
    ++calls;
    answer(first_);
    return 1031.0;
  };
  const std::vector<Timing> timings =
      play({elsewhere, entrant(
                           "here", [&] { answer(second_); }, second_)});
  EXPECT_GT(empty_calls, 10);
  EXPECT_GT(calls, timings[0].sample_count);
  EXPECT_EQ(timings[0].us.median, 1000);
  EXPECT_EQ(timings[0].apart.taken_off_us, 31);
  EXPECT_NE(timings[0].apart.how.find("in another process"), std::string::npos);
  EXPECT_EQ(timings[0].first_failure, "");
  EXPECT_EQ(timings[1].apart.how, "");
}

// Its time is nothing that can be seen, and still no time at all would be wrong.
TEST_F(SeriesTest, ACallShorterThanAskingTakesAMicrosecond) {
  Entrant quick = entrant(
      "quick", [] {}, first_);
  quick.ask_us = [&](const std::vector<std::size_t>& copies) {
    if (copies.front() != kForeignCall) answer(first_);
    return copies.front() == kForeignCall ? 30.0 : 29.0;
  };
  EXPECT_EQ(play({quick})[0].us.median, 1);
}

TEST_F(SeriesTest, JudgesAsTheEntrantSays) {
  Entrant coarse = entrant(
      "coarse",
      [&] {
        answer(first_);
        // Its last three bits.
        element_address(problem_, first_, 0, 0, 1)[0] &= 0xf8;
      },
      first_);
  EXPECT_NE(play({coarse})[0].first_failure, "");
  coarse.rigour = Rigour::kTogether;
  EXPECT_EQ(play({coarse})[0].first_failure, "");
}

// Outputs are poisoned before every timed call, so an answer left over from an earlier one is none.
TEST_F(SeriesTest, CatchesWhoStopsWorking) {
  int calls = 0;
  const std::vector<Timing> timings = play({entrant(
      "lazy",
      [&] {
        if (++calls < 5) answer(first_);
      },
      first_)});
  EXPECT_NE(timings[0].first_failure, "");
  EXPECT_GT(timings[0].max_error_over_bound, 1);
}

TEST_F(SeriesTest, CatchesWritesOutside) {
  const std::vector<Timing> timings = play({entrant(
      "careless",
      [&] {
        answer(first_);
        element_address(problem_, first_, 0, 1, 5)[0] ^= 1;
      },
      first_)});
  EXPECT_NE(timings[0].first_failure.find("behind the last output"), std::string::npos)
      << timings[0].first_failure;
}

// Times are numbers that it was given; it writes down in which order it was asked.
class ScriptedClock : public Clock {
 public:
  bool checks_every_sample() const override { return false; }
  double settling_seconds() const override { return 0; }
  std::string description() const override { return "scripted"; }
  TimedApart timed_apart(std::size_t entrant) const override {
    return entrant == 0 ? TimedApart{} : TimedApart{.how = "by hand", .taken_off_us = 3};
  }
  void get_ready(const std::vector<Entrant>& entrants) override { entrants_ = &entrants; }
  void queue(const std::vector<std::size_t>& order) override {
    queued_.push_back(order);
    orders_.insert(order);
    queued_max_ = std::max(queued_max_, queued_.size());
  }
  std::vector<double> collect_us() override {
    std::vector<double> us;
    for (const std::size_t index : queued_.front()) us.push_back(index == 0 ? 10 : 20);
    queued_.pop_front();
    return us;
  }
  std::size_t run_untimed(std::size_t entrant) override {
    (*entrants_)[entrant].enqueue(0);
    ++check_count_;
    return 0;
  }

  std::size_t queued_max_ = 0;
  int check_count_ = 0;
  std::set<std::vector<std::size_t>> orders_;
  std::deque<std::vector<std::size_t>> queued_;

 private:
  const std::vector<Entrant>* entrants_ = nullptr;
};

// A round is queued before the one before is read, so that a device never pauses; each time goes to
// whom it belongs, whatever the order; checks stand before and after, not between.
TEST_F(SeriesTest, QueuesAheadAndKeepsTimesApart) {
  ScriptedClock clock;
  const std::vector<Entrant> entrants{entrant(
                                          "first", [&] { answer(first_); }, first_),
                                      entrant(
                                          "second", [&] { answer(second_); }, second_)};
  const std::vector<Timing> timings =
      play_series(clock, entrants, by_witness(witness_), {.seconds = 0.001, .seed = 3});
  EXPECT_EQ(timings[0].us.median, 10);
  EXPECT_EQ(timings[1].us.median, 20);
  EXPECT_GE(timings[0].sample_count, 6);
  EXPECT_EQ(clock.queued_max_, 2u);
  const std::set<std::vector<std::size_t>> both{{0, 1}, {1, 0}};
  EXPECT_EQ(clock.orders_, both) << "drawn anew for every round";
  EXPECT_TRUE(clock.queued_.empty());
  EXPECT_EQ(clock.check_count_, 4) << "two entrants, before and after";
  EXPECT_EQ(timings[1].first_failure, "");
}

}  // namespace
}  // namespace thresher::measure
