// SPDX-License-Identifier: Apache-2.0
// Copies and commits that reach several blocks of a cluster, and what can be wrong with them.
#include <gtest/gtest.h>

#include <numeric>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

constexpr u32 kShare = 64;  // bytes that each block brings to all

// What is done otherwise than it should be.
struct MulticastChanges {
  u32 blocks = 3;
  u32 bytes = kShare;
  u32 expected = 2 * kShare;
  bool inits_both = true;
  bool fences = true;
  bool starts_together = true;
  bool waits_in_cluster = true;  // for what the other brought
  bool hears_of_readers = true;  // before the second round
  bool ends_together = true;
};

class Multicast : public ::testing::Test {
 protected:
  Multicast() {
    source_ = static_cast<u32*>(memory_.allocate(512, "source"));
    std::iota(source_, source_ + 128, 100);
  }

  LaunchOptions options(std::uint64_t seed = 0, int blocks = 2) const {
    return {.block_count = blocks,
            .cluster_blocks = blocks,
            .thread_count = 32,
            .shared_bytes = 4096,
            .seed = seed,
            .memory = &memory_};
  }

  static hw::SharedAddress full() { return hw::shared_base(); }
  static hw::SharedAddress empty() { return hw::shared_base() + 8; }
  static hw::SharedAddress buffer() { return hw::shared_base() + 1024; }

  // Two rounds: both blocks bring a share of 128 bytes to both, and read all of them.
  auto kernel(const MulticastChanges& changes) const {
    return [this, changes] {
      const auto rank = static_cast<u32>(hw::cluster_rank());
      if (hw::thread_index() == 0 && (rank == 0 || changes.inits_both)) {
        hw::barrier_init(full(), 1);
        hw::barrier_init(empty(), 2);
        if (changes.fences) hw::barrier_init_fence();
      }
      if (changes.starts_together) hw::sync_block<2>();
      if (hw::thread_index() == 0) {
        for (u32 round = 0; round < 2; ++round) play(changes, rank, round);
      }
      hw::sync_warp();
      if (changes.ends_together) hw::sync_block<2>();
    };
  }

  std::string run(const MulticastChanges& changes, std::uint64_t seed = 0) const {
    return fault_of(options(seed), kernel(changes));
  }

  DeviceMemory memory_;
  u32* source_;

 private:
  void play(const MulticastChanges& changes, u32 rank, u32 round) const {
    if (round > 0 && changes.hears_of_readers) hw::barrier_wait<2>(empty(), 0);
    hw::barrier_arrive_expect(full(), changes.expected);
    hw::copy_once_to_blocks(buffer() + rank * kShare, source_ + 32 * round + 16 * rank,
                            changes.bytes, full(), changes.blocks);
    if (changes.waits_in_cluster) {
      hw::barrier_wait<2>(full(), round);
    } else {
      hw::barrier_wait(full(), round);
    }
    const bool all_there = changes.expected == 2 * kShare;
    for (u32 i = 0; all_there && i < 32; ++i) {
      EXPECT_EQ(hw::load_shared<u32>(buffer() + 4 * i), 100 + 32 * round + i);
    }
    for (u32 other = 0; other < 2; ++other) {
      hw::barrier_arrive_cluster(hw::cluster_address(empty(), other));
    }
  }
};

TEST_F(Multicast, BringsTheSameToAll) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) EXPECT_EQ(run({}, seed), "");
}

TEST_F(Multicast, NamesBlocksThatAreThere) {
  EXPECT_TRUE(contains(run({.blocks = 0}), "says copy_once_to_blocks to blocks 0b0"));
  EXPECT_TRUE(contains(run({.blocks = 5}), "to blocks 0b101 of a cluster of 2"));
}

TEST_F(Multicast, IsHeldToSizesAndPlaces) {
  EXPECT_TRUE(contains(run({.bytes = 40}), "no positive multiple of 16"));
  const auto out = [this] {
    if (hw::thread_index() == 0) hw::barrier_init(full(), 1);
    hw::copy_once_to_blocks(hw::shared_base() + 4096, source_, 16, full(), 1);
  };
  EXPECT_FAULT(options(), out, "outside shared memory");
}

// Of both shares; a block that expects its own alone gets more, and one that expects more waits.
TEST_F(Multicast, BytesCountInEveryBlock) {
  EXPECT_TRUE(contains(run({.expected = kShare}), "which completed without expecting them"));
  EXPECT_TRUE(contains(run({.expected = 3 * kShare}), "(phase 0 lacks 64 bytes)"));
  EXPECT_TRUE(contains(run({.blocks = 1}), "bytes"));
}

TEST_F(Multicast, BarriersMustBeThereInEveryBlock) {
  EXPECT_TRUE(contains(run({.inits_both = false}), "where none was initialised"));
  EXPECT_TRUE(contains(run({.fences = false}), "which had no barrier_init_fence"));
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = run({.starts_together = false}, seed);
    EXPECT_TRUE(contains(text, "where none was initialised") || contains(text, "with no sync"))
        << text;
  }
}

// A wait of the block's scope tells of its own block's copies only.
TEST_F(Multicast, WaitsMustBeOfTheClustersScope) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    EXPECT_TRUE(contains(run({.waits_in_cluster = false}, seed),
                         "a bulk copy that another block issued may still be writing"));
  }
}

// The other block's readers, too, must be done before it is written to.
TEST_F(Multicast, OverwritesNothingThatTheOtherReads) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string text = run({.hears_of_readers = false}, seed);
    EXPECT_TRUE(contains(text, " of another block by a copy, which thread 0 of block ") ||
                contains(text, "a bulk copy that another block issued may still be writing") ||
                contains(text, "completed without expecting them") ||
                contains(text, "bytes more than phase") ||
                contains(text, "which has all 2 arrivals"))
        << text;
  }
}

// A copy to a block that ends without having waited for it.
TEST_F(Multicast, NobodyEndsBeforeItsCopiesAreThere) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = fault_of(options(seed), [this] {
      if (hw::thread_index() == 0) {
        hw::barrier_init(full(), 1);
        hw::barrier_init_fence();
      }
      hw::sync_block<2>();
      if (hw::thread_index() == 0 && hw::cluster_rank() == 0) {
        hw::copy_once_to_blocks(buffer(), source_, kShare, full(), 2);
      }
    });
    EXPECT_TRUE(contains(text, "to which a copy or a commit of another block belongs") ||
                contains(text, "starts a copy to block 1, which has ended"))
        << text;
  }
}

// Commits of one block's MMAs, told to both.
class MulticastCommits : public Multicast {
 protected:
  struct Changes {
    u32 blocks = 3;
    bool other_waits = true;
    bool fences = true;
    bool for_pairs = false;  // other words of the kernel are
  };

  static std::string commit(const LaunchOptions& options, const Changes& changes) {
    return fault_of(options, [changes] {
      if (hw::thread_index() == 0) {
        hw::barrier_init(full(), 1);
        if (changes.fences) hw::barrier_init_fence();
      }
      hw::sync_block<2>();
      if (changes.for_pairs) hw::tensor_allocate_no_more<2>();
      const bool first = hw::cluster_rank() == 0;
      if (hw::thread_index() == 0) {
        if (first) hw::tensor_commit_to_blocks(full(), changes.blocks);
        if (first || changes.other_waits) hw::barrier_wait<2>(full(), 0);
      }
      hw::sync_warp();
      if (changes.other_waits) hw::sync_block<2>();
    });
  }
};

TEST_F(MulticastCommits, ArriveInEveryBlock) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) EXPECT_EQ(commit(options(seed), {}), "");
  EXPECT_TRUE(contains(commit(options(), {.blocks = 0}), "to blocks 0b0 of a cluster of 2"));
  EXPECT_TRUE(contains(commit(options(), {.blocks = 8}), "to blocks 0b1000 of a cluster of 2"));
  EXPECT_TRUE(contains(commit(options(), {.blocks = 1}), "(phase 0 lacks 1 of 1 arrivals)"));
}

TEST_F(MulticastCommits, AreHeldToTheirRules) {
  EXPECT_TRUE(contains(commit(options(), {.fences = false}), "which had no barrier_init_fence"));
  EXPECT_TRUE(contains(commit(options(), {.for_pairs = true}),
                       "all words of tcgen05 in a kernel are for one block, or all are for pairs"));
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = commit(options(seed), {.other_waits = false});
    EXPECT_TRUE(contains(text, "a commit of another block, which arrives at its barrier") ||
                contains(text, "has words of tcgen05 in flight when its block ends") ||
                contains(text, "block 1 ends without waiting for phase 0") ||
                contains(text, "has a commit arrive at a barrier of block 1, which has ended"))
        << text;
  }
}

}  // namespace
}  // namespace thresher::emulator
