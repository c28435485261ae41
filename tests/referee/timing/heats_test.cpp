// SPDX-License-Identifier: Apache-2.0
// The plans of a heat. That a heat is played as planned shows in match_test.cpp.
#include "referee/timing/heats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

namespace thresher::referee {
namespace {

constexpr int kPlanCount = 3000;

// So many of kPlanCount that happen one time in `one_in`, give or take 5 standard deviations.
void expect_one_in(int one_in, int found) {
  const double share = 1.0 / one_in;
  const double sd = std::sqrt(kPlanCount * share * (1 - share));
  EXPECT_NEAR(found, kPlanCount * share, 5 * sd);
}

using Kind = std::pair<Pairing, int>;  // and the problem

Kind kind_of(const PlannedBlock& block) { return {block.pairing, block.problem_index}; }

TEST(PlanBlocks, HasTheMatchSeveralTimesAndEachControlOnce) {
  Random random(1);
  std::map<Kind, int> counts;
  for (const PlannedBlock& block : plan_blocks(2, 3, random)) ++counts[kind_of(block)];
  const std::map<Kind, int> expected = {{{Pairing::kMatch, 0}, 3},  {{Pairing::kMatch, 1}, 3},
                                        {{Pairing::kSame, 0}, 1},   {{Pairing::kSame, 1}, 1},
                                        {{Pairing::kSlowed, 0}, 1}, {{Pairing::kSlowed, 1}, 1}};
  EXPECT_EQ(counts, expected);
}

// Each block comes at each place, whichever came before it, as often as any other.
TEST(PlanBlocks, FollowNoOrder) {
  std::map<std::pair<std::size_t, Kind>, int> at_place;
  std::map<std::pair<Kind, Kind>, int> neighbours;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    const std::vector<PlannedBlock> blocks = plan_blocks(2, 1, random);
    ASSERT_EQ(blocks.size(), 6u);
    for (std::size_t place = 0; place < blocks.size(); ++place) {
      ++at_place[{place, kind_of(blocks[place])}];
    }
    ++neighbours[{kind_of(blocks[0]), kind_of(blocks[1])}];
  }
  EXPECT_EQ(at_place.size(), 36u);
  for (const auto& [place, count] : at_place) expect_one_in(6, count);
  EXPECT_EQ(neighbours.size(), 30u);
  for (const auto& [pair, count] : neighbours) expect_one_in(30, count);
}

TEST(PlanBlocks, TossWhoBegins) {
  std::map<std::size_t, int> champion_begins;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    const std::vector<PlannedBlock> blocks = plan_blocks(1, 1, random);
    for (std::size_t place = 0; place < blocks.size(); ++place) {
      champion_begins[place] += blocks[place].first_arm_a ? 1 : 0;
    }
  }
  for (const auto& [place, count] : champion_begins) expect_one_in(2, count);
}

TEST(PlanPacking, FollowsNoOrder) {
  std::map<std::array<Role, 3>, int> orders;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    ++orders[plan_packing(random)];
  }
  EXPECT_EQ(orders.size(), 6u);
  for (const auto& [order, count] : orders) expect_one_in(6, count);
}

}  // namespace
}  // namespace thresher::referee
