// SPDX-License-Identifier: Apache-2.0
// Threads acting together: what the words do, and what is reported when they are misused.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

constexpr int kSeeds = 10;

LaunchOptions block_of(int thread_count, std::uint64_t seed = 0) {
  return {.thread_count = thread_count, .shared_bytes = 4096, .seed = seed};
}

TEST(Threads, KnowWhoTheyAre) {
  std::set<std::pair<int, int>> seen;
  launch({.block_count = 7, .thread_count = 96}, [&] {
    EXPECT_EQ(hw::block_count(), 7);
    EXPECT_EQ(hw::thread_count(), 96);
    EXPECT_EQ(hw::warp_index() * 32 + hw::lane_index(), hw::thread_index());
    seen.insert({hw::block_index(), hw::thread_index()});
  });
  EXPECT_EQ(seen.size(), 7U * 96U);
}

TEST(Threads, RunInAnOrderTheSeedDecides) {
  const auto order = [](std::uint64_t seed) {
    std::vector<int> indices;
    launch(block_of(64, seed), [&] { indices.push_back(hw::thread_index()); });
    return indices;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(SyncBlock, OrdersSharedAccesses) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    launch(block_of(128, static_cast<std::uint64_t>(seed)), [] {
      const auto t = static_cast<u32>(hw::thread_index());
      for (u32 round = 0; round < 3; ++round) {
        hw::store_shared(hw::shared_base() + 4 * t, round * 1000 + t);
        hw::sync_block();
        EXPECT_EQ(hw::load_shared<u32>(hw::shared_base() + 4 * (127 - t)), round * 1000 + 127 - t);
        hw::sync_block();
      }
    });
  }
}

TEST(SyncBlock, IsMissedWhereItIsMissing) {
  EXPECT_FAULT(
      block_of(64),
      [] {
        const auto t = static_cast<u32>(hw::thread_index());
        hw::store_shared(hw::shared_base() + 4 * t, t);
        hw::load_shared<u32>(hw::shared_base() + 4 * (63 - t));
      },
      "shared address");
}

TEST(SyncBlock, NeedsEveryThread) {
  EXPECT_FAULT(
      block_of(64),
      [] {
        if (hw::thread_index() != 3) hw::sync_block();
      },
      "sync_block");
}

TEST(SyncNamed, LetsProducersArriveWithoutWaiting) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    launch(block_of(64, static_cast<std::uint64_t>(seed)), [] {
      const auto lane = static_cast<u32>(hw::lane_index());
      for (u32 round = 0; round < 4; ++round) {
        if (hw::warp_index() == 0) {
          hw::store_shared(hw::shared_base() + 4 * lane, round + lane);
          hw::arrive_named(1, 64);
          hw::sync_named(2, 64);
        } else {
          hw::sync_named(1, 64);
          EXPECT_EQ(hw::load_shared<u32>(hw::shared_base() + 4 * (31 - lane)), round + 31 - lane);
          hw::arrive_named(2, 64);
        }
      }
    });
  }
}

// An arrival that does not wait learns nothing of those that arrive later.
TEST(SyncNamed, ArrivingIsNotWaiting) {
  EXPECT_FAULT(
      block_of(64),
      [] {
        const auto lane = static_cast<u32>(hw::lane_index());
        if (hw::warp_index() == 0) {
          hw::store_shared(hw::shared_base() + 4 * lane, lane);
          hw::sync_named(1, 64);
        } else {
          hw::arrive_named(1, 64);
          hw::load_shared<u32>(hw::shared_base() + 4 * lane);
        }
      },
      "reads shared address");
}

TEST(SyncNamed, ReportsMisuse) {
  EXPECT_FAULT(
      block_of(64), [] { hw::sync_named(16, 64); }, "there are 1 to 15");
  EXPECT_FAULT(
      block_of(64), [] { hw::sync_named(1, 40); }, "no multiple of 32");
  EXPECT_FAULT(
      block_of(64), [] { hw::sync_named(1, hw::warp_index() == 0 ? 64 : 32); },
      "others in the same round");
}

TEST(Warp, ExchangesValues) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    launch(block_of(64, static_cast<std::uint64_t>(seed)), [] {
      const auto t = static_cast<u32>(hw::thread_index());
      const u32 first = t / 32 * 32;
      for (int lane = 0; lane < 32; lane += 5) {
        EXPECT_EQ(hw::shuffle(t * 3, lane), (first + static_cast<u32>(lane)) * 3);
        EXPECT_EQ(hw::shuffle_xor(t, lane), t ^ static_cast<u32>(lane));
      }
      EXPECT_EQ(hw::broadcast(t + 7), first + 7);
      EXPECT_EQ(hw::broadcast(-static_cast<int>(t)), -static_cast<int>(first));
    });
  }
}

TEST(Warp, VotesAndAgrees) {
  launch(block_of(64), [] {
    const u32 lane = static_cast<u32>(hw::lane_index());
    EXPECT_EQ(hw::ballot(lane % 3 == 0), 0x49249249u);
    EXPECT_EQ(hw::count_bits(hw::ballot(lane < 7)), 7);
    EXPECT_EQ(hw::uniform(41u + static_cast<u32>(hw::warp_index())),
              41u + static_cast<u32>(hw::warp_index()));
  });
  EXPECT_FAULT(
      block_of(32), [] { hw::uniform(hw::lane_index() == 5 ? 1 : 0); }, "says uniform with 1");
}

TEST(Warp, ElectsOneLaneAndAlwaysTheSame) {
  std::set<int> lanes;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::vector<int> elected;
    launch(block_of(32, static_cast<std::uint64_t>(seed)), [&] {
      for (int i = 0; i < 3; ++i) {
        if (hw::elect_one()) elected.push_back(hw::lane_index());
      }
    });
    ASSERT_EQ(elected.size(), 3U);
    EXPECT_EQ(elected[0], elected[1]);
    EXPECT_EQ(elected[0], elected[2]);
    lanes.insert(elected[0]);
  }
  EXPECT_GT(lanes.size(), 1U);
}

TEST(Warp, SyncsItsLanes) {
  const auto kernel = [](bool sync) {
    const auto lane = static_cast<u32>(hw::lane_index());
    hw::store_shared(hw::shared_base() + 4 * lane, lane);
    if (sync) {
      hw::sync_warp();
    } else {
      hw::shuffle(lane, 0);  // brings the lanes together, but orders no memory
    }
    hw::load_shared<u32>(hw::shared_base() + 4 * (31 - lane));
  };
  EXPECT_EQ(fault_of(block_of(32), [&] { kernel(true); }), "");
  EXPECT_FAULT(
      block_of(32), [&] { kernel(false); }, "with no barrier in between");
}

TEST(Warp, MustSpeakTogether) {
  EXPECT_FAULT(
      block_of(32),
      [] {
        if (hw::lane_index() < 4) {
          hw::sync_warp();
        } else {
          hw::shuffle(0, 0);
        }
      },
      "beside it says");
  EXPECT_FAULT(
      block_of(32),
      [] {
        if (hw::lane_index() != 9) hw::sync_warp();
      },
      "sync_warp");
}

TEST(Registers, MoveBetweenWarpgroups) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    launch(block_of(384, static_cast<std::uint64_t>(seed)), [] {
      if (hw::warp_index() < 4) {
        hw::registers_shrink<40>();
      } else {
        hw::registers_grow<232>();
      }
    });
  }
}

TEST(Registers, ReportMisuse) {
  EXPECT_FAULT(
      block_of(384),
      [] {
        if (hw::warp_index() < 4) {
          hw::registers_shrink<48>();
        } else {
          hw::registers_grow<232>();
        }
      },
      "registers more");
  EXPECT_FAULT(
      block_of(128), [] { hw::registers_shrink<20>(); }, "no multiple of 8");
  EXPECT_FAULT(
      block_of(128), [] { hw::registers_shrink<16>(); }, "from 24 to 256");
  EXPECT_FAULT(
      block_of(384), [] { hw::registers_grow<40>(); }, "while it has 168");
  EXPECT_FAULT(
      block_of(128),
      [] {
        if (hw::warp_index() == 1) hw::registers_shrink<40>();
      },
      "registers_shrink");
}

TEST(Deadlock, SaysWhoWaitsForWhat) {
  const std::string text = fault_of(block_of(96), [] {
    if (hw::warp_index() == 0) hw::sync_named(3, 96);
    if (hw::warp_index() == 1) hw::sync_named(4, 64);
    if (hw::warp_index() == 2 && hw::lane_index() < 30) hw::sync_named(3, 96);
  });
  EXPECT_EQ(text,
            "deadlock in block 0: threads 0-31, 64-93 wait for named barrier 3 (62 of 96 threads "
            "arrived), threads 32-63 wait for named barrier 4 (32 of 64 threads arrived)");
}

TEST(Launch, RefusesImpossibleBlocks) {
  EXPECT_FAULT(
      block_of(100), [] {}, "100 threads");
  EXPECT_FAULT((LaunchOptions{.shared_bytes = 1 << 20}), [] {}, "bytes of shared memory");
}

}  // namespace
}  // namespace thresher::emulator
