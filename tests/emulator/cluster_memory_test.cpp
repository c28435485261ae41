// SPDX-License-Identifier: Apache-2.0
// The shared memory of other blocks of a cluster: loads, stores and bulk copies between blocks, and
// what can be wrong with them.
#include <gtest/gtest.h>

#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

constexpr u32 kWords = 64;  // of each block, one for each thread

LaunchOptions two_blocks(std::uint64_t seed = 0) {
  return {.block_count = 2,
          .cluster_blocks = 2,
          .thread_count = kWords,
          .shared_bytes = 4096,
          .seed = seed};
}

u32 own_rank() { return static_cast<u32>(hw::cluster_rank()); }
u32 thread_number() { return static_cast<u32>(hw::thread_index()); }
hw::SharedAddress own_words() { return hw::shared_base(); }
hw::SharedAddress others_words() { return hw::shared_base() + 1024; }
hw::SharedAddress counter() { return hw::shared_base() + 2048; }
u32 value_of(u32 rank, u32 index) { return 1000 * rank + index; }

// What is done otherwise than it should be.
struct VisitChanges {
  bool starts_together = true;
  bool waits_for_stores = true;
  u32 offset = 0;
};

// Every thread stores a word in the other block, reads one there, and finds the other's in its own.
void visit(const VisitChanges& changes) {
  const u32 other = own_rank() ^ 1;
  const u32 at = 4 * thread_number();
  hw::store_shared(own_words() + at, value_of(own_rank(), thread_number()));
  if (changes.starts_together) hw::sync_block<2>();
  hw::store_cluster(hw::cluster_address(others_words() + at + changes.offset, other),
                    value_of(own_rank(), thread_number()));
  EXPECT_EQ(hw::load_cluster<u32>(hw::cluster_address(own_words() + at, other)),
            value_of(other, thread_number()));
  if (changes.waits_for_stores) hw::sync_block<2>();
  EXPECT_EQ(hw::load_shared<u32>(others_words() + at), value_of(other, thread_number()));
  if (!changes.waits_for_stores) hw::sync_block<2>();
}

std::string visit_fault(const VisitChanges& changes, std::uint64_t seed) {
  return fault_of(two_blocks(seed), [changes] { visit(changes); });
}

TEST(ClusterMemory, BlocksReachEachOther) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) EXPECT_EQ(visit_fault({}, seed), "");
}

// The own block's address is one of the cluster's, too.
TEST(ClusterMemory, ABlockReachesItself) {
  EXPECT_EQ(fault_of({.thread_count = 32, .shared_bytes = 1024},
                     [] {
                       const u32 at = own_words() + 16 * thread_number();
                       const hw::ClusterAddress there = hw::cluster_address(at, 0);
                       hw::store_cluster(there, U32x4{1, 2, 3, thread_number()});
                       EXPECT_EQ(hw::load_cluster<U32x4>(there).w, thread_number());
                     }),
            "");
}

TEST(ClusterMemory, NeedsABlockThatHasBegun) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    EXPECT_TRUE(contains(visit_fault({.starts_together = false}, seed),
                         "and nothing tells it that the block has begun"));
  }
}

// An order of accesses is known by barriers only, of the cluster's scope.
TEST(ClusterMemory, AccessesAreInOrder) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = visit_fault({.waits_for_stores = false}, seed);
    EXPECT_TRUE(contains(text, "of block 1 wrote with no barrier in between") ||
                contains(text, "of block 0 wrote with no barrier in between") ||
                contains(text, "reads with no barrier in between") ||
                contains(text, "which nobody has written"))
        << text;
  }
}

// A barrier of the own block tells its threads what a wait of the block's scope has not learnt.
TEST(ClusterMemory, WaitsMustBeOfTheClustersScope) {
  const auto kernel = [](bool in_cluster) {
    return [=] {
      if (thread_number() == 0) {
        hw::barrier_init(counter(), kWords);
        hw::barrier_init_fence();
      }
      hw::sync_block<2>();
      const u32 at = own_words() + 4 * thread_number();
      if (own_rank() == 0) {
        hw::store_cluster(hw::cluster_address(at, 1), thread_number());
        hw::barrier_arrive_cluster(hw::cluster_address(counter(), 1));
      } else {
        if (in_cluster) {
          hw::barrier_wait<2>(counter(), 0);
        } else {
          hw::barrier_wait(counter(), 0);
        }
        hw::load_shared<u32>(at);
      }
      hw::sync_block<2>();
    };
  };
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    EXPECT_EQ(fault_of(two_blocks(seed), kernel(true)), "");
    EXPECT_FAULT(two_blocks(seed), kernel(false), "of block 0 wrote with no barrier in between");
  }
}

TEST(ClusterMemory, NobodyEndsBeforeItsVisitorsAreDone) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string text = fault_of(two_blocks(seed), [] {
      hw::sync_block<2>();
      if (own_rank() == 0) {
        hw::store_cluster(hw::cluster_address(own_words() + 4 * thread_number(), 1), 7u);
      }
    });
    EXPECT_TRUE(contains(text, "writes shared memory of block 1, which has ended") ||
                (contains(text, "block 1 ends, and nothing tells it that thread") &&
                 contains(text, "of block 0 is done with its shared memory")))
        << text;
  }
}

TEST(ClusterMemory, IsHeldToPlaces) {
  EXPECT_TRUE(contains(visit_fault({.offset = 2}, 0), "not aligned to 4 bytes"));
  EXPECT_TRUE(contains(visit_fault({.offset = 3072}, 0), "outside shared memory"));
  EXPECT_FAULT(
      two_blocks(), [] { hw::load_cluster<u32>(own_words()); },
      "which cluster_address has not given it");
}

// Bulk copies between blocks: rank 0 sends 256 bytes to rank 1, twice.
struct SendChanges {
  bool fences = true;   // what was stored
  bool expects = true;  // by the sender, at the receiver's barrier
  u32 bytes = 4 * kWords;
  bool tells_own = false;  // a barrier of the sender
  bool hears_back = true;  // before it stores anew
  bool waits_in_cluster = true;
};

void send(const SendChanges& changes) {
  const bool sends = own_rank() == 0;
  if (thread_number() == 0) {
    hw::barrier_init(counter(), 1);
    hw::barrier_init(counter() + 8, kWords);
    hw::barrier_init_fence();
  }
  hw::sync_block<2>();
  for (u32 round = 0; round < 2; ++round) {
    if (sends) {
      if (round > 0 && changes.hears_back) hw::barrier_wait<2>(counter() + 8, 0);
      if (round > 0 && !changes.hears_back) hw::sync_block();  // that the copy was asked for
      hw::store_shared(own_words() + 4 * thread_number(), value_of(round, thread_number()));
      if (changes.fences) hw::fence_async();
      hw::sync_block();
      if (thread_number() != 0) continue;
      const u32 told = changes.tells_own ? 0 : 1;
      if (changes.expects) {
        hw::barrier_arrive_expect_cluster(hw::cluster_address(counter(), 1), 4 * kWords);
      }
      hw::copy_to_cluster(hw::cluster_address(others_words(), 1), own_words(), changes.bytes,
                          hw::cluster_address(counter(), told));
    } else {
      if (changes.waits_in_cluster) {
        hw::barrier_wait<2>(counter(), round);
      } else {
        hw::barrier_wait(counter(), round);
      }
      EXPECT_EQ(hw::load_shared<u32>(others_words() + 4 * thread_number()),
                value_of(round, thread_number()));
      hw::barrier_arrive_cluster(hw::cluster_address(counter() + 8, 0));
    }
  }
  hw::sync_block<2>();
}

std::string send_fault(const SendChanges& changes, std::uint64_t seed = 0) {
  return fault_of(two_blocks(seed), [changes] { send(changes); });
}

TEST(CopiesBetweenBlocks, ArriveAndAreCounted) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) EXPECT_EQ(send_fault({}, seed), "");
}

TEST(CopiesBetweenBlocks, AreHeldToSizesAndPlaces) {
  EXPECT_TRUE(contains(send_fault({.bytes = 40}), "40 bytes between blocks, no positive multiple"));
  EXPECT_TRUE(contains(send_fault({.bytes = 3200}), "outside shared memory"));
  EXPECT_TRUE(contains(send_fault({.tells_own = true}), "and tells a barrier of another"));
}

TEST(CopiesBetweenBlocks, BytesAreExpected) {
  EXPECT_TRUE(contains(send_fault({.expects = false}), "phase 0"));
  EXPECT_TRUE(contains(send_fault({.bytes = 128}), "(phase 0 lacks 128 bytes)"));
}

TEST(CopiesBetweenBlocks, WhatWasStoredIsFenced) {
  EXPECT_TRUE(contains(send_fault({.fences = false}), "stored there without fence_async before"));
}

TEST(CopiesBetweenBlocks, WaitsMustBeOfTheClustersScope) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    EXPECT_TRUE(contains(send_fault({.waits_in_cluster = false}, seed),
                         "a bulk copy that another block issued may still be writing"));
  }
}

// The sender may store anew only when it knows that the copy has left.
TEST(CopiesBetweenBlocks, NobodyOverwritesWhatIsBeingRead) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = send_fault({.hears_back = false}, seed);
    EXPECT_TRUE(contains(text, "a bulk copy to another block may still be reading")) << text;
  }
}

TEST(CopiesBetweenBlocks, NeitherEndsBeforeTheyAreThere) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string text = fault_of(two_blocks(seed), [] {
      if (thread_number() == 0) {
        hw::barrier_init(counter(), 1);
        hw::barrier_init_fence();
      }
      hw::store_shared(own_words() + 4 * thread_number(), 1u);
      hw::fence_async();
      hw::sync_block<2>();
      if (own_rank() != 0 || thread_number() != 0) return;
      hw::barrier_arrive_expect_cluster(hw::cluster_address(counter(), 1), 16);
      hw::copy_to_cluster(hw::cluster_address(others_words(), 1), own_words(), 16,
                          hw::cluster_address(counter(), 1));
    });
    EXPECT_TRUE(contains(text, "copies from its shared memory to another block's are complete") ||
                contains(text, "a copy or a commit of another block belongs") ||
                contains(text, "block 1, which has ended"))
        << text;
  }
}

// What a thread stored in another block's memory, a copy of that block reads: the fence is the one
// of the cluster.
TEST(CopiesBetweenBlocks, FarStoresNeedTheClustersFence) {
  const auto kernel = [](int fence) {
    return [=] {
      if (thread_number() == 0) {
        hw::barrier_init(counter(), 1);
        hw::barrier_init_fence();
      }
      hw::sync_block<2>();
      if (own_rank() == 0) {
        hw::store_cluster(hw::cluster_address(own_words() + 4 * thread_number(), 1), 5u);
        if (fence == 1) hw::fence_async();
        if (fence == 2) hw::fence_async_cluster();
      }
      hw::sync_block<2>();
      if (own_rank() == 1 && thread_number() == 0) {
        hw::barrier_arrive_expect_cluster(hw::cluster_address(counter(), 0), 256);
        hw::copy_to_cluster(hw::cluster_address(others_words(), 0), own_words(), 256,
                            hw::cluster_address(counter(), 0));
      }
      if (own_rank() == 0) {
        hw::barrier_wait<2>(counter(), 0);
        EXPECT_EQ(hw::load_shared<u32>(others_words() + 4 * thread_number()), 5u);
      }
      hw::sync_block<2>();
    };
  };
  EXPECT_EQ(fault_of(two_blocks(), kernel(2)), "");
  for (const int fence : {0, 1}) {
    EXPECT_FAULT(two_blocks(), kernel(fence),
                 "of block 0 stored there without fence_async_cluster before the barrier");
  }
}

}  // namespace
}  // namespace thresher::emulator
