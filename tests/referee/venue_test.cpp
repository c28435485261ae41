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
  EXPECT_EQ(venue_of("cpu").hold_gpu({}, "/nowhere"), nullptr);
}

}  // namespace
}  // namespace thresher::referee
