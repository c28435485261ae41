// SPDX-License-Identifier: Apache-2.0
// The rows of the venues. What each of them does is tested where it is done: builds, arms,
// samplers, workers and sandboxes have tests of their own.
#include "referee/venue.hpp"

#include <gtest/gtest.h>

#include "nvfp4/error_message.hpp"

namespace thresher::referee {
namespace {

TEST(Venue, EveryBackendHasItsOwnRowOrNone) {
  EXPECT_EQ(venue_of("cpu").backend, "cpu");
  EXPECT_EQ(venue_of("gpu").backend, "gpu");
  EXPECT_EQ(find_venue("emulator"), nullptr);
  EXPECT_EQ(nvfp4::error_message([] { venue_of("emulator"); }),
            "nothing is judged on the emulator");
}

// An exception for one backend must not open the sandbox of another.
TEST(Venue, TheCpuNeedsNoHoleInTheSandbox) {
  const SandboxNeeds& needs = venue_of("cpu").sandbox;
  EXPECT_EQ(needs.no_memory_limit, nullptr);
  EXPECT_EQ(needs.device_files, nullptr);
  EXPECT_FALSE(needs.sockets);
}

TEST(Venue, OnTheCpuTheClockIsTheReferees) {
  EXPECT_EQ(venue_of("cpu").clock, SampleClock::kReferee);
}

// What verdicts say of their times: a sample is a call on the CPU, and a batch of them on a GPU.
TEST(Venue, SaysWhatSurroundsATimedCall) {
  EXPECT_EQ(venue_of("cpu").surroundings, measure::Surroundings::kAlone);
  EXPECT_EQ(venue_of("gpu").surroundings, measure::Surroundings::kBackToBack);
}

// It says nothing of itself, and measures ceilings only where they could accuse somebody.
TEST(Venue, OnTheCpuAMatchHoldsAnEngineAndNoDevice) {
  const Venue& venue = venue_of("cpu");
  const std::unique_ptr<Hold> hold = venue.hold({}, 2, "/nowhere");
  ArmOptions arm;
  hold->equip(arm);
  ASSERT_NE(arm.engine, nullptr);
  EXPECT_EQ(arm.engine->thread_count(), 2);
  EXPECT_EQ(arm.gpu, nullptr);
  EXPECT_TRUE(arm.counts_threads);
  EXPECT_EQ(hold->description(), "");
  EXPECT_EQ(hold->clocks(), "");
  EXPECT_TRUE(venue.stopping_layers({}, arm, 1).empty());
  EXPECT_FALSE(venue.rates(arm, /*ours=*/true));
}

}  // namespace
}  // namespace thresher::referee
