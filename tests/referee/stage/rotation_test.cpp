// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/rotation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gemm/speed_of_light.hpp"
#include "support/scene.hpp"

namespace thresher::referee {
namespace {

using thresher::testing::make_problem;

constexpr std::size_t kL2Bytes = 60 << 20;

TEST(Rotation, CopiesExceedTheCacheTwice) {
  for (const std::int64_t n : {512, 4096, 16384}) {
    const Problem problem = make_problem({64, 64}, n, 4096);
    const Rotation rotation = rotation_for(problem, 20e3, kL2Bytes, true);
    EXPECT_GE(rotation.copy_count, 2);
    EXPECT_LE(rotation.copy_count, kCallsPerBatchMax);
    EXPECT_GE(rotation.call_count, rotation.copy_count);
    const bool exceeds = rotation.copy_count * weight_bytes(problem) >= 2.0 * kL2Bytes;
    EXPECT_TRUE(exceeds || rotation.copy_count == kCallsPerBatchMax) << n;
  }
}

TEST(Rotation, LargeWeightsStillAlternate) {
  const Problem problem = make_problem({1}, 32768, 16384);
  EXPECT_EQ(rotation_for(problem, 1e6, kL2Bytes, true), (Rotation{2, 2}));
}

TEST(Rotation, ShortCallsFillABatch) {
  const Problem problem = make_problem({8}, 64, 64);
  EXPECT_EQ(rotation_for(problem, 1, kL2Bytes, true), (Rotation{32, 32}));
  EXPECT_EQ(rotation_for(problem, 40e3, kL2Bytes, false), (Rotation{1, 4}));
}

TEST(Rotation, TurnedRowsAreTheSameUpToTheirSign) {
  const Problem problem = make_problem({2}, 64, 48, Op::kDual);
  const Inputs before = make_inputs(problem, InputFamily::kNatural, 1);
  Inputs after = before;
  Random random(2);
  turn_rows(problem, after, random);
  EXPECT_EQ(before.groups[0].a.codes, after.groups[0].a.codes);
  EXPECT_EQ(before.groups[0].b.scales, after.groups[0].b.scales);
  EXPECT_NE(before.groups[0].b_up.codes, after.groups[0].b_up.codes);
  int turned_count = 0;
  for (std::size_t row = 0; row < 64; ++row) {
    const bool turned = before.groups[0].b.codes[row * 24] != after.groups[0].b.codes[row * 24];
    turned_count += turned;
    for (std::size_t i = row * 24; i < (row + 1) * 24; ++i) {
      EXPECT_EQ(before.groups[0].b.codes[i] ^ after.groups[0].b.codes[i], turned ? 0x88 : 0);
    }
  }
  EXPECT_GT(turned_count, 10);
  EXPECT_LT(turned_count, 54);
}

TEST(Rotation, ActivationsTravelWithoutWeights) {
  const Problem problem = make_problem({3, 0}, 8, 32);
  const Inputs first = make_inputs(problem, InputFamily::kNatural, 1);
  Inputs second = make_inputs(problem, InputFamily::kNatural, 2);
  const std::vector<std::uint8_t> weights = second.groups[0].b.codes;
  put_activations(activations_of(first), second);
  EXPECT_EQ(second.groups[0].a.codes, first.groups[0].a.codes);
  EXPECT_EQ(second.groups[0].alpha, first.groups[0].alpha);
  EXPECT_EQ(second.groups[0].b.codes, weights);
  EXPECT_TRUE(activations_of(first).groups[0].b.codes.empty());
}

TEST(Rotation, TheLastCallIsAlwaysLookedAtAndOthersByChance) {
  Random random(1);
  EXPECT_EQ(draw_inspected(1, 2, random), std::vector<int>{0});
  EXPECT_EQ(draw_inspected(2, 2, random), (std::vector<int>{0, 1}));
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) {
    const std::vector<int> calls = draw_inspected(8, 2, random);
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[1], 7);
    seen.insert(calls[0]);
  }
  EXPECT_EQ(seen.size(), 7u);
}

// Counted, for a cheat that is wrong in one call of each batch, wherever it likes but at the end.
double escaped_share(int call_count, int inspected_count, int batch_count) {
  constexpr int kMatches = 20000;
  Random random(2);
  int escaped = 0;
  for (int match = 0; match < kMatches; ++match) {
    bool found = false;
    for (int batch = 0; batch < batch_count && !found; ++batch) {
      const int wrong = static_cast<int>(random.below(static_cast<std::uint64_t>(call_count - 1)));
      const std::vector<int> calls = draw_inspected(call_count, inspected_count, random);
      found = std::find(calls.begin(), calls.end(), wrong) != calls.end();
    }
    escaped += !found;
  }
  return double(escaped) / kMatches;
}

TEST(Rotation, WhoeverIsWrongInOneCallOfEachBatchIsFound) {
  // Two in each of 4 blocks of 5 heats.
  EXPECT_EQ(inspected_count_for(32, 40), 6);  // (26/31)^40 = 0.0009
  EXPECT_EQ(inspected_count_for(8, 40), 3);   // (5/7)^40; with two it would be (6/7)^40 = 0.002
  EXPECT_EQ(inspected_count_for(2, 40), 2);
  EXPECT_EQ(inspected_count_for(1, 40), 1);
  EXPECT_EQ(inspected_count_for(32, 1), 32);  // of a single batch every call
  for (const int call_count : {4, 8, 16, 32}) {
    for (const int batch_count : {10, 40}) {
      const int count = inspected_count_for(call_count, batch_count);
      EXPECT_LT(escaped_share(call_count, count, batch_count), 2 * kEscapeShareMax)
          << count << " of " << call_count << ", " << batch_count << " batches";
    }
  }
  // Two of 32 were not enough.
  EXPECT_NEAR(escaped_share(32, 2, 40), 0.27, 0.02);  // (30/31)^40
}

}  // namespace
}  // namespace thresher::referee
