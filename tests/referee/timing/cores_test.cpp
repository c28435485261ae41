// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/cores.hpp"

#include <gtest/gtest.h>

#include "cpu/features.hpp"

namespace thresher::referee {
namespace {

const std::vector<CoreUse> kBefore = {{0, 100}, {2, 500}, {3, 50}, {7, 0}};
const std::vector<CoreUse> kAfter = {{0, 190}, {2, 510}, {3, 140}, {7, 5}};

TEST(QuietestCores, AreThoseThatWereLeastBusyInBetween) {
  EXPECT_EQ(quietest_cores(kBefore, kAfter, 1), (std::vector{7}));
  EXPECT_EQ(quietest_cores(kBefore, kAfter, 2), (std::vector{2, 7}));
  EXPECT_EQ(quietest_cores(kBefore, kAfter, 3), (std::vector{0, 2, 7}));
}

TEST(QuietestCores, BindNobodyWhereThereIsNoChoice) {
  EXPECT_TRUE(quietest_cores(kBefore, kAfter, 4).empty());
  EXPECT_TRUE(quietest_cores(kBefore, kAfter, 9).empty());
  EXPECT_TRUE(quietest_cores({}, {}, 1).empty());
  EXPECT_TRUE(quietest_cores(kBefore, {{0, 1}}, 1).empty());
}

TEST(QuietCoreCount, TakesAwayWhatOthersKeepBusy) {
  const auto busy = [](std::int64_t first, std::int64_t second) {
    return quiet_core_count({{0, 100}, {1, 300}}, {{0, 100 + first}, {1, 300 + second}}, 50);
  };
  EXPECT_EQ(busy(0, 0), 2);
  EXPECT_EQ(busy(50, 3), 1);
  EXPECT_EQ(busy(26, 25), 1) << "one thread that moves about";
  EXPECT_EQ(busy(10, 10), 2) << "a little of everything";
  EXPECT_EQ(busy(50, 50), 1) << "somebody has to play somewhere";
}

TEST(QuietCoreCount, IsUnknownWhereTheKernelDoesNotSay) {
  EXPECT_EQ(quiet_core_count({}, {}, 50), 0);
  EXPECT_EQ(quiet_core_count({{0, 1}}, {{0, 1}, {1, 1}}, 50), 0);
  EXPECT_EQ(quiet_core_count({{0, 1}}, {{0, 1}}, 0), 0);
}

TEST(CoreUse, KnowsTheCoresOfThisProcess) {
  const std::vector<CoreUse> uses = core_use();
  if (uses.empty()) GTEST_SKIP() << "the kernel does not say";
  EXPECT_EQ(static_cast<int>(uses.size()), cpu::usable_core_count());
}

}  // namespace
}  // namespace thresher::referee
