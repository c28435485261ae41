// SPDX-License-Identifier: Apache-2.0
#include "cli/presence.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

namespace thresher::cli {
namespace {

// Houses of their own, so that tests that run side by side do not meet.
std::string own_house(const char* test) { return fmt::format("{}-{}", test, getpid()); }

TEST(Presence, IsSilentAlone) {
  ::testing::internal::CaptureStderr();
  {
    Presence alone("bench", own_house("alone"));
    EXPECT_TRUE(alone.neighbours().empty());
    EXPECT_TRUE(alone.newcomers().empty());
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Presence, IsNoticedOnBothSides) {
  const std::string house = own_house("both");
  ::testing::internal::CaptureStderr();
  auto first = std::make_unique<Presence>("bench", house);
  auto second = std::make_unique<Presence>("match", house);
  const std::string to_the_second = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(second->neighbours().size(), 1u);
  EXPECT_TRUE(second->neighbours()[0].starts_with(fmt::format("pid {} (", getpid())))
      << second->neighbours()[0];
  EXPECT_NE(to_the_second.find(fmt::format("thresher: pid {} (", getpid())), std::string::npos)
      << to_the_second;
  EXPECT_NE(to_the_second.find(" is measuring on this machine too"), std::string::npos);

  ::testing::internal::CaptureStderr();
  first.reset();
  const std::string to_the_first = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(to_the_first.find(fmt::format("pid {} (match) began to measure", getpid())),
            std::string::npos)
      << to_the_first;

  ::testing::internal::CaptureStderr();
  const Presence third("season", house);
  EXPECT_EQ(third.neighbours().size(), 1u) << "the second is still there, whoever has left";
  second.reset();
  ::testing::internal::GetCapturedStderr();
}

TEST(Presence, LeavesNothingBehind) {
  const std::string house = own_house("nothing");
  { const Presence gone("bench", house); }
  const Presence next("bench", house);
  EXPECT_TRUE(next.neighbours().empty());
}

TEST(Presence, HasRoomForMoreThanHaveNames) {
  const std::string house = own_house("many");
  ::testing::internal::CaptureStderr();
  {
    std::vector<std::unique_ptr<Presence>> all;
    for (int i = 0; i < 12; ++i) all.push_back(std::make_unique<Presence>("bench", house));
    EXPECT_EQ(all.back()->neighbours().size(), 8u);
  }
  ::testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace thresher::cli
