// SPDX-License-Identifier: Apache-2.0
#include "tune/overtime.hpp"

#include <gtest/gtest.h>

namespace thresher::tune {
namespace {

Ruling open_ruling(int heat_count, int more_heats_needed) {
  MatchSamples samples;
  samples.heats.resize(static_cast<std::size_t>(heat_count));
  return {.reason = "unclear",
          .open = OpenMatch{.samples = std::move(samples), .more_heats_needed = more_heats_needed}};
}

// A referee that needs a second for a heat, and decides when as many as a match needs were played.
class Stadium {
 public:
  Stadium(std::vector<int> heats_wanted, double seconds)
      : heats_wanted_(std::move(heats_wanted)), seconds_left_(seconds) {}

  Ruling play_on(const Ruling& before, std::size_t index, double seconds) {
    order.push_back(index);
    shares.push_back(seconds);
    int heats = static_cast<int>(before.open->samples.heats.size());
    for (; seconds >= 1 && heats < heats_wanted_[index]; --seconds, --seconds_left_) ++heats;
    if (heats >= heats_wanted_[index]) return {.accepted = true, .reason = "accepted"};
    return open_ruling(heats, heats_wanted_[index] - heats);
  }
  double seconds_left() const { return seconds_left_; }

  std::vector<std::size_t> order;
  std::vector<double> shares;

 private:
  const std::vector<int> heats_wanted_;
  double seconds_left_;
};

void play(std::vector<Ruling>& rulings, Stadium& stadium) {
  play_overtime(
      rulings, [&] { return stadium.seconds_left(); },
      [&](std::size_t index, double seconds) {
        return stadium.play_on(rulings[index], index, seconds);
      });
}

TEST(Overtime, GoesToThoseWhoNeedTheFewestHeats) {
  std::vector<Ruling> rulings{
      open_ruling(3, 0), {.accepted = true}, open_ruling(3, 9), open_ruling(3, 2)};
  Stadium stadium({8, 0, 12, 5}, 60);
  play(rulings, stadium);
  EXPECT_EQ(stadium.order, (std::vector<std::size_t>{3, 2, 0}));
  EXPECT_EQ(stadium.shares, (std::vector<double>{20, 29, 49})) << "what one leaves the others get";
  for (const Ruling& ruling : rulings) EXPECT_TRUE(ruling.accepted);
}

TEST(Overtime, ComesBackWhileThereIsTime) {
  std::vector<Ruling> rulings{open_ruling(1, 14), open_ruling(1, 2)};
  Stadium stadium({15, 3}, 20);
  play(rulings, stadium);
  EXPECT_TRUE(rulings[0].accepted);
  EXPECT_TRUE(rulings[1].accepted);
  EXPECT_LE(stadium.order.size(), 3U);
}

TEST(Overtime, EndsWithTheTimeAndWhereNothingHelps) {
  std::vector<Ruling> rulings{open_ruling(1, 90), open_ruling(1, 90)};
  Stadium stadium({91, 91}, 20);
  play(rulings, stadium);
  EXPECT_LT(stadium.seconds_left(), 4);
  EXPECT_GE(stadium.seconds_left(), 0);
  EXPECT_TRUE(rulings[0].open && rulings[1].open);

  std::vector<Ruling> stuck{open_ruling(2, 1)};
  int asked_count = 0;
  play_overtime(
      stuck, [] { return 1e9; },
      [&](std::size_t, double) {
        ++asked_count;
        return open_ruling(2, 1);
      });
  EXPECT_EQ(asked_count, 1) << "a stretch without a heat is the last";
}

}  // namespace
}  // namespace thresher::tune
