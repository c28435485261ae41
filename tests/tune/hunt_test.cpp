// SPDX-License-Identifier: Apache-2.0
// Hunts in a simulated world, whose truth is known: calls are noisy, clocks drift, and every
// process has its own luck with memory.
#include "tune/hunt.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gemm/random.hpp"
#include "referee/statistics/simulation.hpp"

namespace thresher::tune {
namespace {

using referee::SimulatedMachine;

constexpr double kLogNs = 11.5;  // a call of about 0.1 ms
constexpr double kCallSeconds = 1e-4;

// Four knobs of four values.
VariantSpace space_of_256() {
  VariantSpace made;
  for (int knob = 0; knob < 4; ++knob) {
    made.space.knobs.push_back("k" + std::to_string(knob));
    made.space.values.push_back({"1", "2", "3", "4"});
  }
  for (int i = 0; i < 256; ++i) {
    made.space.points.push_back({i / 64, i / 16 % 4, i / 4 % 4, i % 4});
    made.names.push_back("v" + std::to_string(i));
  }
  return made;
}

// A machine on which a variant is so much faster than v0 as `truth` says.
class World {
 public:
  using Truth = std::function<double(const std::string&)>;

  World(const referee::SimulatedWorld& world, Truth truth, std::uint64_t seed)
      : world_(world), truth_(std::move(truth)), seed_(seed), machine_(world, seed) {}

  Racecourse course() {
    return {.open_track = [this] { return std::make_unique<SimulatedTrack>(*this); },
            .judge = [this](const std::string& challenger, double) { return judge(challenger); },
            .seconds = [this] { return seconds(); }};
  }
  double seconds() const { return idle_seconds_ + kCallSeconds * static_cast<double>(call_count_); }
  void idle(double seconds) { idle_seconds_ += seconds; }

  std::function<void()> on_round;
  double seconds_begun = 0;  // when a workshop was given its last variant

  int entered_count(const std::string& variant) const {
    return static_cast<int>(entered_.count(variant));
  }

 private:
  class SimulatedTrack final : public Track {
   public:
    explicit SimulatedTrack(World& world) : world_(world) { world.machine_.settle(); }

    bool enter(const std::string& variant) override {
      world_.entered_.insert(variant);
      const double speedup = world_.truth_(variant);
      if (speedup == 0) return false;
      log_ns_.push_back(kLogNs - std::log(speedup) + world_.machine_.draw_process_offset());
      return true;
    }
    std::vector<double> play_round(std::span<const std::size_t> order) override {
      if (world_.on_round) world_.on_round();
      std::vector<double> us;
      for (const std::size_t i : order) us.push_back(1e-3 * world_.machine_.call_ns(log_ns_[i]));
      world_.call_count_ += static_cast<int>(order.size());
      return us;
    }

   private:
    World& world_;
    std::vector<double> log_ns_;
  };

  // One simulated match, under the referee's whole contract.
  Ruling judge(const std::string& challenger) const {
    const referee::MatchPlan plan{.world = world_,
                                  .truth = {.speedups = {truth_(challenger)}},
                                  .terms = {},
                                  .options = {.heats_min = 5, .heats_max = 15}};
    return {.accepted = referee::rate_verdicts(plan, 1, seed_).accepted == 1, .reason = "played"};
  }

  const referee::SimulatedWorld world_;
  const Truth truth_;
  const std::uint64_t seed_;
  SimulatedMachine machine_;
  int call_count_ = 0;
  double idle_seconds_ = 0;
  std::multiset<std::string> entered_;
};

Catch hunt_in(World& world, const HuntOptions& options) {
  return hunt(space_of_256(), "v0", world.course(), options);
}

double all_equal(const std::string&) { return 1; }

TEST(Hunt, ChangesNothingWhereAllVariantsAreEqual) {
  for (const referee::SimulatedWorld& world :
       {referee::kWorlds.back().world, referee::kNoisyWorlds.back().world}) {
    int kept_count = 0;
    int asked_count = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      World equal(world, all_equal, seed);
      const Catch caught = hunt_in(equal, {.seconds = 0.2, .seed = seed});
      EXPECT_GT(caught.state.tried_count, 35U);
      kept_count += caught.ruling.accepted ? 0 : 1;
      asked_count += caught.state.at_the_referee ? 1 : 0;
    }
    EXPECT_GE(kept_count, 95);
    RecordProperty("asked_the_referee", asked_count);
  }
}

TEST(Hunt, FindsWhatIsFaster) {
  const auto truth = [](const std::string& variant) {
    const Point point = space_of_256().space.points[std::stoul(variant.substr(1))];
    return 0.9 + 0.1 * (point[0] == 2 ? 1 : 0) + 0.1 * (point[1] == 3 ? 1 : 0) +
           (variant == "v0" ? 0.1 : 0);
  };
  int found_count = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(referee::kWorlds.back().world, truth, seed);
    const Catch caught = hunt_in(world, {.seconds = 0.2, .seed = seed});
    found_count += caught.ruling.accepted && truth(caught.state.variant) > 1.09 ? 1 : 0;
  }
  EXPECT_GE(found_count, 18);
}

TEST(Hunt, GoesOnFromWhatWasTried) {
  World first(referee::kWorlds.front().world, all_equal, 1);
  HuntOptions options{.seconds = 0.2};
  const Catch half = hunt_in(first, options);
  options.earlier = half.state.trials;
  options.earlier.push_back({"of another version", 2});
  options.earlier_trace = half.state.trace;
  options.earlier_seconds = 0.08;
  World second(referee::kWorlds.front().world, all_equal, 2);
  const Catch whole = hunt_in(second, options);
  EXPECT_GT(whole.state.tried_count, half.state.tried_count);
  const std::size_t told_before = half.state.trace.size();
  ASSERT_GT(whole.state.trace.size(), told_before);
  EXPECT_EQ(whole.state.trace[0].seconds, half.state.trace[0].seconds) << "the story is whole";
  EXPECT_GT(whole.state.trace[told_before].seconds, 0.08) << "time that was spent is spent";
  std::set<std::string> tried;
  for (const Trial& trial : whole.state.trials) {
    EXPECT_TRUE(tried.insert(trial.variant).second) << trial.variant << " was tried twice";
  }
}

TEST(Hunt, TakesUpALeaderAndRacesItAnew) {
  World world(referee::kWorlds.front().world, all_equal, 1);
  const Catch caught =
      hunt_in(world, {.seconds = 0.2, .earlier = {{"v7", 1.5}, {"v8", 0}}, .earlier_seconds = 0});
  EXPECT_GT(world.entered_count("v7"), 0);
  EXPECT_EQ(world.entered_count("v8"), 0);
  EXPECT_LT(caught.state.raced_speedup, 1.1) << "it was luck";
}

TEST(Hunt, BelievesOfALeaderWhatItShowsOnceItLeads) {
  for (const std::string best : {"v8", "v50", "v99", "v120", "v150", "v177", "v200", "v255"}) {
    const auto truth = [&](const std::string& variant) {
      return variant == best ? 2 : variant == "v7" ? 1.2 : variant == "v0" ? 1 : 0.8;
    };
    World world(referee::kWorlds.front().world, truth, 1);
    const Catch caught = hunt_in(world, {.seconds = 1e9, .earlier = {{"v7", 1.9}}});
    EXPECT_EQ(caught.state.variant, best);
    EXPECT_NEAR(caught.state.raced_speedup, 2, 0.1) << "nothing of the leader before it";
  }
  const auto lucky = [](const std::string& variant) { return variant == "v7" ? 1.2 : 0.8; };
  World world(referee::kWorlds.front().world, lucky, 1);
  const Catch caught = hunt_in(world, {.seconds = 0.2, .earlier = {{"v7", 3}}});
  EXPECT_NEAR(caught.state.raced_speedup, 1.5, 0.1) << "1.2 over 0.8, and not its luck";
}

// Entrants are as fast as `truth` says; the engine's choice takes five times as long in the first
// round of each race that counts.
class GlitchedTrack final : public Track {
 public:
  explicit GlitchedTrack(World::Truth truth) : truth_(std::move(truth)) {}

  bool enter(const std::string& variant) override {
    us_.push_back(100 / truth_(variant));
    return true;
  }
  std::vector<double> play_round(std::span<const std::size_t> order) override {
    const bool is_glitched = round_++ == 1;
    std::vector<double> us;
    for (const std::size_t i : order) us.push_back(us_[i] * (is_glitched && i == 0 ? 5 : 1));
    return us;
  }

 private:
  const World::Truth truth_;
  std::vector<double> us_;
  int round_ = 0;
};

// Whoever leaves after two rounds has raced too little to lead, and to be learnt from as it stands.
TEST(Hunt, AGlitchOfTheChoiceMakesNobodyALeader) {
  const auto truth = [](const std::string& variant) {
    return variant == "v0" ? 1 : variant.back() == '3' ? 1.05 : 0.7;
  };
  double seconds = 0;
  const Racecourse course{
      .open_track = [&] { return std::make_unique<GlitchedTrack>(truth); },
      .judge = [](const std::string&, double) { return Ruling{.accepted = true}; },
      .seconds = [&] { return seconds += 0.01; }};
  const Catch caught = hunt(space_of_256(), "v0", course, {.seconds = 10});
  EXPECT_GT(caught.state.tried_count, 50U);
  EXPECT_EQ(truth(caught.state.variant), 1.05);
  for (const TracePoint& point : caught.state.trace) EXPECT_LT(point.speedup, 1.06);
  for (const Trial& trial : caught.state.trials) {
    EXPECT_NEAR(trial.speedup, truth(trial.variant), 1e-9) << trial.variant;
  }
}

// Somebody else's load makes a third of all calls take up to three times as long.
class LoadedTrack final : public Track {
 public:
  LoadedTrack(World::Truth truth, Random& random) : truth_(std::move(truth)), random_(random) {}

  bool enter(const std::string& variant) override {
    us_.push_back(100 / truth_(variant));
    return true;
  }
  std::vector<double> play_round(std::span<const std::size_t> order) override {
    std::vector<double> us;
    for (const std::size_t i : order) {
      const bool is_slowed = random_.below(3) == 0;
      us.push_back(us_[i] * (is_slowed ? 1 + 0.01 * static_cast<double>(random_.below(200)) : 1));
    }
    return us;
  }

 private:
  const World::Truth truth_;
  Random& random_;
  std::vector<double> us_;
};

// Among hundreds somebody is always luckier than the fastest is fast: once, and not again and
// again.
TEST(Hunt, WhoIsFastIsNotForgottenForWhoWasLucky) {
  const auto truth = [](const std::string& variant) {
    const Point point = space_of_256().space.points[std::stoul(variant.substr(1))];
    return variant == "v0" ? 1 : point[0] == 2 && point[1] == 3 ? 1.08 : 0.97;
  };
  int found_count = 0;
  int honest_count = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random luck(seed);
    double seconds = 0;
    const Racecourse course{
        .open_track = [&] { return std::make_unique<LoadedTrack>(truth, luck); },
        .judge = [](const std::string&, double) { return Ruling{.accepted = true}; },
        .seconds = [&] { return seconds += 0.01; }};
    const Catch caught = hunt(space_of_256(), "v0", course, {.seconds = 10, .seed = seed});
    const double fast = truth(caught.state.variant);
    found_count += fast > 1.07 ? 1 : 0;
    honest_count += std::abs(caught.state.raced_speedup - fast) < 0.05 ? 1 : 0;
  }
  EXPECT_GE(found_count, 50);
  EXPECT_GE(honest_count, 54);
}

// The only good one has bad luck in the race in which it is new.
TEST(Hunt, LooksAgainAtWhoDidBestWhenEverythingWasTried) {
  const auto truth = [](const std::string& variant) {
    return variant == "v0" ? 1 : variant == "v77" ? 1.05 : 0.8;
  };
  class UnluckyTrack final : public Track {
   public:
    UnluckyTrack(World::Truth truth, int& races_of_77)
        : truth_(std::move(truth)), races_of_77_(races_of_77) {}
    bool enter(const std::string& variant) override {
      const bool is_unlucky = variant == "v77" && ++races_of_77_ == 1;
      us_.push_back(100 / truth_(variant) * (is_unlucky ? 1.2 : 1));
      return true;
    }
    std::vector<double> play_round(std::span<const std::size_t> order) override {
      std::vector<double> us;
      for (const std::size_t i : order) us.push_back(us_[i]);
      return us;
    }

   private:
    const World::Truth truth_;
    int& races_of_77_;
    std::vector<double> us_;
  };
  double seconds = 0;
  int races_of_77 = 0;
  const Racecourse course{
      .open_track = [&] { return std::make_unique<UnluckyTrack>(truth, races_of_77); },
      .judge = [](const std::string&, double) { return Ruling{.accepted = true}; },
      .seconds = [&] { return seconds += 0.001; }};
  const Catch caught = hunt(space_of_256(), "v0", course, {.seconds = 10});
  EXPECT_EQ(caught.state.tried_count, 255U);
  EXPECT_EQ(caught.state.variant, "v77");
  EXPECT_NEAR(caught.state.raced_speedup, 1.05, 1e-9) << "of the races after the bad one";
}

TEST(Hunt, EndsWhenEverythingWasTriedAndTellsWhatDoesNotRun) {
  const auto truth = [](const std::string& variant) { return variant.back() == '3' ? 0.0 : 1.0; };
  World world(referee::kWorlds.front().world, truth, 1);
  int watched_count = 0;
  const Catch caught = hunt_in(world, {.seconds = 1e9, .watch = [&](const HuntState& state) {
                                         ++watched_count;
                                         EXPECT_EQ(state.space_size, 256U);
                                       }});
  EXPECT_EQ(caught.state.tried_count, 255U) << "all but the choice";
  EXPECT_FALSE(caught.ruling.accepted);
  EXPECT_GT(watched_count, 30);
  for (const Trial& trial : caught.state.trials) {
    EXPECT_EQ(trial.speedup == 0, truth(trial.variant) == 0) << trial.variant;
  }
}

TEST(Hunt, KeepsItsTime) {
  const double round = kCallSeconds * 8;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const double budget = 0.05 + 0.0005 * static_cast<double>(seed);
    World world(referee::kWorlds.front().world, all_equal, seed);
    hunt_in(world, {.seconds = budget, .seed = seed});
    EXPECT_LE(world.seconds(), 0.6 * budget + round);
    EXPECT_GE(world.seconds(), 0.6 * budget - 13 * round) << "a race more would have found time";
  }
}

TEST(Hunt, AFirstRaceThatTakesTooLongIsCutShort) {
  World world(referee::kWorlds.front().world, all_equal, 1);
  const Catch caught = hunt_in(world, {.seconds = kCallSeconds, .racer_count = 6});
  EXPECT_EQ(caught.state.tried_count, 6U);
  EXPECT_LE(world.seconds(), kCallSeconds * 4 * 7) << "a warm-up and three rounds of seven";
}

TEST(Hunt, RacesOnceWhereTheTimeIsSpentAlready) {
  World world(referee::kWorlds.front().world, all_equal, 1);
  EXPECT_EQ(hunt_in(world, {.seconds = 0.2, .earlier_seconds = 1}).state.tried_count, 6U);
}

// Has one variant ready after each so many seconds, when somebody waits for it.
class SlowWorkshop final : public Workshop {
 public:
  SlowWorkshop(World& world, double seconds_each, std::multiset<std::string>& begun,
               std::shared_ptr<int> open = {})
      : world_(world), seconds_each_(seconds_each), begun_(begun), open_(std::move(open)) {}

  std::size_t capacity() const override { return 20; }
  void begin(const std::string& variant) override {
    begun_.insert(variant);
    world_.seconds_begun = world_.seconds();
    in_the_making_.push_back(variant);
    EXPECT_LE(in_the_making_.size(), capacity());
  }
  std::vector<std::string> take(std::size_t count, double seconds) override {
    std::vector<std::string> ready;
    for (double waited = seconds_each_; ready.size() < count && !in_the_making_.empty();
         waited += seconds_each_) {
      if (waited > seconds) {
        world_.idle(std::max(0.0, seconds - (waited - seconds_each_)));
        break;
      }
      world_.idle(seconds_each_);
      ready.push_back(in_the_making_.back());
      in_the_making_.pop_back();
    }
    return ready;
  }

 private:
  World& world_;
  const double seconds_each_;
  std::multiset<std::string>& begun_;
  const std::shared_ptr<int> open_;
  std::vector<std::string> in_the_making_;
};

Catch hunt_with_workshop(World& world, double seconds_each, double budget,
                         std::multiset<std::string>& begun) {
  Racecourse course = world.course();
  course.workshop = [&] { return std::make_unique<SlowWorkshop>(world, seconds_each, begun); };
  return hunt(space_of_256(), "v0", course, {.seconds = budget});
}

TEST(Hunt, HasOthersMadeReadyWhileSomeRace) {
  World world(referee::kWorlds.front().world, all_equal, 1);
  std::multiset<std::string> begun;
  std::optional<std::size_t> ahead_of_first_race;
  world.on_round = [&] {
    if (!ahead_of_first_race) ahead_of_first_race = begun.size() - 6;
  };
  const Catch caught = hunt_with_workshop(world, 1e-4, 0.2, begun);
  EXPECT_EQ(ahead_of_first_race, 20U) << "as many as the workshop holds";
  EXPECT_LE(begun.size(), caught.state.tried_count + 20);
  for (const Trial& trial : caught.state.trials) {
    EXPECT_EQ(begun.count(trial.variant), 1U) << trial.variant;
  }
}

TEST(Hunt, TriesEverythingThatAWorkshopMakes) {
  World world(referee::kWorlds.front().world, all_equal, 1);
  std::multiset<std::string> begun;
  EXPECT_EQ(hunt_with_workshop(world, 1e-4, 1e9, begun).state.tried_count, 255U);
}

TEST(Hunt, BeginsNothingThatWouldBeReadyTooLate) {
  const auto truth = [](const std::string& variant) { return variant == "v0" ? 1.0 : 0.9; };
  World world(referee::kWorlds.front().world, truth, 1);
  std::multiset<std::string> begun;
  hunt_with_workshop(world, 0.01, 1, begun);
  EXPECT_GT(world.seconds_begun, 0.4);
  EXPECT_LT(world.seconds_begun, 0.6 - 0.01);
}

TEST(Hunt, NobodyCompilesWhileTheRefereeListens) {
  const auto truth = [](const std::string& variant) { return variant == "v0" ? 1.0 : 1.1; };
  World world(referee::kWorlds.front().world, truth, 1);
  std::multiset<std::string> begun;
  const auto open = std::make_shared<int>(0);  // a user for each workshop that is open
  Racecourse course = world.course();
  course.workshop = [&] { return std::make_unique<SlowWorkshop>(world, 1e-4, begun, open); };
  bool judged = false;
  course.judge = [&](const std::string&, double) {
    judged = true;
    EXPECT_EQ(open.use_count(), 1);
    return Ruling{};
  };
  hunt(space_of_256(), "v0", course, {.seconds = 0.2});
  EXPECT_TRUE(judged);
}

TEST(Hunt, WaitsForNoLaterRacerBeyondItsTime) {
  World world(referee::kWorlds.front().world, all_equal, 1);
  std::multiset<std::string> begun;
  const Catch caught = hunt_with_workshop(world, 0.09, 1, begun);
  EXPECT_EQ(caught.state.tried_count, 6U) << "the next one would be ready after 0.63 s";
  EXPECT_LE(world.seconds(), 0.6);
}

TEST(Hunt, WaitsForItsFirstRacerButForNoneThatComesTooLate) {
  World world(referee::kWorlds.front().world, all_equal, 1);
  std::multiset<std::string> begun;
  const Catch caught = hunt_with_workshop(world, 1, 0.5, begun);
  EXPECT_EQ(caught.state.tried_count, 1U);
  EXPECT_LT(world.seconds(), 1.4) << "its time, then for the first, and nobody else";
}

}  // namespace
}  // namespace thresher::tune
