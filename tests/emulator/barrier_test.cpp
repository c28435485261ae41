// SPDX-License-Identifier: Apache-2.0
// mbarriers: phases, and everything that can be wrong with one.
#include <gtest/gtest.h>

#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

constexpr LaunchOptions kTwoWarps{.thread_count = 64, .shared_bytes = 4096};

hw::SharedAddress barrier() { return hw::shared_base() + 64; }

void init(u32 arrivals) {
  if (hw::thread_index() == 0) {
    hw::barrier_init(barrier(), arrivals);
    hw::barrier_init_fence();
  }
  hw::sync_block();
}

TEST(Barrier, PassesWorkBackAndForth) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    LaunchOptions options = kTwoWarps;
    options.seed = seed;
    launch(options, [] {
      const hw::SharedAddress full = hw::shared_base() + 64;
      const hw::SharedAddress empty = full + 8;
      if (hw::thread_index() == 0) {
        hw::barrier_init(full, 32);
        hw::barrier_init(empty, 32);
        hw::barrier_init_fence();
      }
      hw::sync_block();
      const auto lane = static_cast<u32>(hw::lane_index());
      const u32 cell = hw::shared_base() + 128 + 4 * lane;
      for (u32 round = 0; round < 6; ++round) {
        if (hw::warp_index() == 0) {
          hw::barrier_wait(empty, (round & 1) ^ 1);
          hw::store_shared(cell, round + lane);
          hw::barrier_arrive(full);
        } else {
          hw::barrier_wait(full, round & 1);
          EXPECT_EQ(hw::load_shared<u32>(cell ^ 4), round + (lane ^ 1));
          hw::barrier_arrive(empty);
        }
      }
    });
  }
}

TEST(Barrier, CountsArrivals) {
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        init(63);
        hw::barrier_arrive(barrier());
        hw::barrier_wait(barrier(), 1);
      },
      "deadlock");
  // The 65th arrival belongs to the next phase, so only a phase held open by bytes can have too
  // many.
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        init(1);
        hw::barrier_arrive_expect(barrier(), 16);
      },
      "which has all 1 arrivals of phase 0");
}

TEST(Barrier, SaysWhatAWaitLacks) {
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        init(65);
        hw::barrier_arrive_expect(barrier(), 16);
        hw::barrier_wait(barrier(), 0);
      },
      "threads 0-63 wait for parity 0 of the barrier at 0x440 (phase 0 lacks 1 of 65 "
      "arrivals and 1024 bytes)");
}

TEST(Barrier, MustBeInitialisedOnceAndInTime) {
  EXPECT_FAULT(
      kTwoWarps, [] { hw::barrier_wait(barrier(), 0); }, "where none was initialised");
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        init(64);
        init(64);
      },
      "again");
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        if (hw::thread_index() == 0) hw::barrier_init(barrier(), 64);
        hw::shuffle(0, 0);  // the lanes meet, but nothing tells them of the barrier
        if (hw::warp_index() == 0) hw::barrier_arrive(barrier());
      },
      "with no sync in between");
  EXPECT_FAULT(
      kTwoWarps, [] { hw::barrier_init(barrier() + 4, 1); }, "not aligned to 8 bytes");
  EXPECT_FAULT(
      kTwoWarps, [] { hw::barrier_init(barrier(), 0); }, "for 0 arrivals");
}

TEST(Barrier, IsNoOrdinaryMemory) {
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        init(64);
        hw::load_shared<u32>(barrier() + 4);
      },
      "which holds a barrier");
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        init(64);
        hw::store_shared(barrier(), u64{0});
      },
      "which holds a barrier");
}

TEST(Barrier, TakesOnlyAParity) {
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        init(64);
        hw::barrier_wait(barrier(), 2);
      },
      "parity 2");
}

TEST(Barrier, CannotExpectTooMuch) {
  EXPECT_FAULT(
      kTwoWarps,
      [] {
        init(64);
        hw::barrier_arrive_expect(barrier(), 1 << 16);
      },
      "more than 1048575");
}

}  // namespace
}  // namespace thresher::emulator
