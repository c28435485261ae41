// SPDX-License-Identifier: Apache-2.0
// Clusters of blocks: who is who, the barrier of all, arrivals at each other's barriers, and what
// can be wrong with them.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

LaunchOptions clusters_of(int blocks, int count = 1, std::uint64_t seed = 0) {
  return {.block_count = blocks * count,
          .cluster_blocks = blocks,
          .thread_count = 64,
          .shared_bytes = 4096,
          .seed = seed};
}

bool is_first_of(u32 rank) {
  return hw::thread_index() == 0 && static_cast<u32>(hw::cluster_rank()) == rank;
}

hw::SharedAddress cluster_barrier() { return hw::shared_base() + 64; }

// A barrier in every block, known to all blocks.
void init_everywhere(u32 arrivals) {
  if (hw::thread_index() == 0) {
    hw::barrier_init(cluster_barrier(), arrivals);
    hw::barrier_init_fence();
  }
  hw::sync_block<2>();
}

TEST(Cluster, BlocksKnowTheirRank) {
  std::set<std::tuple<int, int, int>> seen;
  launch(clusters_of(4, 3), [&] {
    EXPECT_EQ(hw::cluster_block_count(), 4);
    EXPECT_EQ(hw::cluster_rank(), hw::block_index() % 4);
    seen.insert({hw::block_index(), hw::cluster_rank(), hw::thread_index()});
  });
  EXPECT_EQ(seen.size(), 12u * 64u);
  EXPECT_THROW(launch({.block_count = 3, .cluster_blocks = 2, .thread_count = 32}, [] {}), Error);
  EXPECT_THROW(launch({.block_count = 3, .cluster_blocks = 3, .thread_count = 32}, [] {}), Error);
}

// Work handed from one block to the other and back, through barriers of either.
TEST(Cluster, ArriveAtEachOthersBarriers) {
  int sum = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    launch(clusters_of(2, 2, seed), [&] {
      init_everywhere(64);
      const auto other = static_cast<u32>(hw::cluster_rank() ^ 1);
      const hw::ClusterAddress there = hw::cluster_address(cluster_barrier(), other);
      for (u32 round = 0; round < 4; ++round) {
        const bool mine = round % 2 == static_cast<u32>(hw::cluster_rank());
        if (mine) {
          sum += static_cast<int>(round);
          hw::barrier_arrive_cluster(there);
        } else {
          hw::barrier_wait<2>(cluster_barrier(), round / 2);
        }
      }
      hw::sync_block<2>();
    });
  }
  EXPECT_EQ(sum, 8 * 2 * 64 * (0 + 1 + 2 + 3));
}

TEST(Cluster, BarriersMustBeThere) {
  const auto arrives = [](bool fenced, bool synced) {
    return [=] {
      if (is_first_of(0)) {
        hw::barrier_init(cluster_barrier(), 64);
        if (fenced) hw::barrier_init_fence();
      }
      if (synced) hw::sync_block<2>();
      if (hw::cluster_rank() == 1) {
        hw::barrier_arrive_cluster(hw::cluster_address(cluster_barrier(), 0));
      }
      hw::sync_block<2>();
    };
  };
  EXPECT_EQ(fault_of(clusters_of(2), arrives(true, true)), "");
  EXPECT_FAULT(clusters_of(2), arrives(false, true), "of block 0, which had no barrier_init_fence");
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = fault_of(clusters_of(2, 1, seed), arrives(true, false));
    EXPECT_TRUE(contains(text, "of block 0, where none was initialised") ||
                contains(text, "of block 0, which thread 0 of block 0 initialised with no sync"))
        << text;
  }
  EXPECT_FAULT(
      clusters_of(2), [] { hw::cluster_address(cluster_barrier(), 2); },
      "asks for an address in block 2 of a cluster of 2");
  EXPECT_FAULT(
      clusters_of(2), [] { hw::barrier_arrive_cluster(cluster_barrier()); },
      "which cluster_address has not given it");
}

// Whoever is arrived at must know of it before it ends: otherwise it could have been gone.
TEST(Cluster, NobodyArrivesAtABlockThatMayHaveEnded) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = fault_of(clusters_of(2, 1, seed), [] {
      init_everywhere(64);
      if (hw::cluster_rank() == 1) {
        hw::barrier_arrive_cluster(hw::cluster_address(cluster_barrier(), 0));
      }
    });
    EXPECT_TRUE(contains(text, "arrives at a barrier of block 0, which has ended") ||
                contains(text, "block 0 ends, and nothing tells it that thread"))
        << text;
  }
}

TEST(Cluster, BarrierOfAllThreads) {
  EXPECT_FAULT(
      clusters_of(2), [] { hw::cluster_wait(); }, "has not said cluster_arrive before");
  EXPECT_FAULT(
      clusters_of(2),
      [] {
        hw::cluster_arrive();
        hw::cluster_arrive();
      },
      "says cluster_arrive again before it has said cluster_wait");
  EXPECT_FAULT(
      clusters_of(2), [] { hw::cluster_arrive(); }, "ends without cluster_wait");
  EXPECT_FAULT(
      clusters_of(2),
      [] {
        if (is_first_of(1)) hw::barrier_init(cluster_barrier(), 1);
        if (is_first_of(1)) hw::barrier_wait(cluster_barrier(), 0);
        hw::sync_block<2>();
      },
      "cluster_wait (127 of 128 threads have said cluster_arrive)");
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = fault_of(clusters_of(2, 1, seed), [] {
      if (!is_first_of(1)) hw::sync_block<2>();
    });
    EXPECT_TRUE(contains(text, "of its cluster have said cluster_arrive, and it has not") ||
                contains(text, "says cluster_arrive, but thread 0 of block 1 has ended"))
        << text;
  }
}

// Global memory: blocks of a cluster tell each other by its barrier, those of others need fences.
TEST(Cluster, BarrierOrdersGlobalMemory) {
  DeviceMemory memory;
  auto* const word = static_cast<u32*>(memory.allocate(4));
  const auto kernel = [&](bool syncs) {
    return [=] {
      if (is_first_of(0)) hw::store_global(word, 7u);
      if (syncs) hw::sync_block<2>();
      if (is_first_of(1)) {
        EXPECT_EQ(hw::load_global_coherent(word), 7u);
      }
    };
  };
  LaunchOptions options = clusters_of(2);
  options.memory = &memory;
  EXPECT_EQ(fault_of(options, kernel(true)), "");
  *word = 7;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    options.seed = seed;
    const std::string text = fault_of(options, kernel(false));
    EXPECT_TRUE(contains(text, "thread 0 of block 0 wrote") ||
                contains(text, "thread 0 of block 1 read"))
        << text;
  }
}

}  // namespace
}  // namespace thresher::emulator
