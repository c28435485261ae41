// SPDX-License-Identifier: Apache-2.0
// MMAs of a pair of blocks: every width against a plain sum, and everything that can be done
// wrongly between the two, done wrongly once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emulator/tensor_pair_rig.hpp"

namespace thresher::emulator {
namespace {

void expect_pair_fault(const PairChanges& changes, const char* words) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const std::string text = PairRig::run(changes, seed);
    EXPECT_TRUE(contains(text, words)) << "wanted: " << words << "\nreported: " << text;
  }
}

// Which of the two blocks notices first is a matter of the order of events.
void expect_one_of(const PairChanges& changes, const char* words, const char* other_words) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = PairRig::run(changes, seed);
    EXPECT_TRUE(contains(text, words) || contains(text, other_words))
        << "wanted: " << words << "\nor: " << other_words << "\nreported: " << text;
  }
}

TEST(TensorPair, EveryWidthExactly) {
  for (const u32 columns : {16u, 48u, 144u, 256u}) {
    const PairTile tile(columns, 0x38, 0x39);
    for (const TensorSums model : {TensorSums::kInOrder, TensorSums::kAligned}) {
      if (columns > 64 && model == TensorSums::kInOrder) continue;  // it is the MMA's of one block
      std::vector<float> sums(256 * columns);
      const PairChanges none;
      launch(PairRig::options(columns, model), PairRig(tile, none, &sums));
      for (u32 i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(sums[i], tile.sum(i / columns, i % columns)) << columns << " columns, " << i;
      }
    }
  }
}

// 128 rows, 64 of each block: halves of the columns beside each other in tensor memory.
TEST(TensorPair, EveryWidthOf64RowsExactly) {
  for (const u32 columns : {16u, 48u, 144u, 256u}) {
    const PairTile tile(columns, 0x38, 0x39, 64);
    std::vector<float> sums(128 * columns);
    const PairChanges none;
    launch(PairRig::options(columns), PairRig(tile, none, &sums));
    for (u32 i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(sums[i], tile.sum(i / columns, i % columns)) << columns << " columns, " << i;
    }
  }
}

// Copied as for 128 rows, the scales of the second half of the columns are the first's.
TEST(TensorPair, ScalesOf64RowsAreCopiedByHalves) {
  const PairTile tile(64, 0x30, 0x40, 64);
  std::vector<float> sums(128 * 64);
  PairChanges changes;
  changes.copies_halves = false;
  launch(PairRig::options(1), PairRig(tile, changes, &sums));
  bool upper_half_differs = false;
  for (u32 i = 0; i < sums.size(); ++i) {
    const bool right = sums[i] == tile.sum(i / 64, i % 64);
    ASSERT_TRUE(right || i % 64 >= 32) << i;
    upper_half_differs |= !right;
  }
  EXPECT_TRUE(upper_half_differs);
}

TEST(TensorPair, NothingIsWrongAtFirst) {
  PairChanges twice;
  twice.second_tile = true;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(PairRig::run(twice, seed), "");
    EXPECT_EQ(PairRig::run(twice, seed, 64, 64), "");
  }
}

// Sums of 64 rows and of 128 in the same columns are no accumulator of the same shape.
TEST(TensorPair, AnotherNumberOfRowsOnTheSameSums) {
  PairChanges changes;
  int count = 0;
  changes.mma = [&count](hw::BlockScaledMma& mma) {
    if (count++ != 1) return;
    mma.instruction = hw::block_scaled_instruction(128, 128);
    mma.b = mma.a;  // which has enough rows
  };
  const std::string text = PairRig::run(changes);
  EXPECT_TRUE(contains(text, "an MMA may still be writing: the thread has not seen its commit"))
      << text;
}

TEST(TensorPair, InstructionDescriptor) {
  PairChanges changes;
  changes.mma = [](hw::BlockScaledMma& mma) { mma.instruction ^= (16u ^ 12u) << 24; };
  expect_pair_fault(changes, "has 192 rows: an FP4 MMA of a pair of blocks has 128 or 256");
  changes.mma = [](hw::BlockScaledMma& mma) { mma.instruction ^= (8u ^ 5u) << 17; };
  expect_pair_fault(changes, "has 40 columns, no multiple of 16 from 16 to 256");
}

TEST(TensorPair, NeedsAPair) {
  const auto kernel = [] { hw::tensor_commit<2>(hw::shared_base()); };
  EXPECT_FAULT((LaunchOptions{.thread_count = 32, .shared_bytes = 64}), kernel,
               "for a pair of blocks, and its cluster has one block");
}

TEST(TensorPair, WordsForOneBlockAndForPairsDoNotMix) {
  PairChanges changes;
  changes.allocates_alone = true;
  expect_pair_fault(changes, "all words of tcgen05 in a kernel are for one block, or all are for");
}

TEST(TensorPair, TheLeaderIssues) {
  PairChanges changes;
  changes.issuer = 1;
  expect_pair_fault(changes, "is not in the block of even rank, which leads");
}

TEST(TensorPair, TheOtherBlockMustBeReady) {
  PairChanges changes;
  changes.peer_is_ready = false;
  expect_one_of(changes, "of the other block of its pair by tcgen05, which thread",
                "of the other block of its pair by tcgen05, which nobody has written");
  PairChanges unfenced;
  unfenced.peer_fences = false;
  expect_pair_fault(unfenced, "of block 1 stored there without fence_async");
  PairChanges half;
  half.peer_puts_scales = false;
  expect_pair_fault(half, "of the other block of its pair by tcgen05, which nobody has written");
}

// Default waits are of the block's scope, and do not acquire what another block released.
TEST(TensorPair, WaitsMustBeOfTheClustersScope) {
  PairChanges leader;
  leader.leader_learns = false;
  expect_pair_fault(leader, "of block 1 wrote with no barrier in between");
  PairChanges peer;
  peer.peer_learns = false;
  expect_pair_fault(peer, "an MMA may still be writing: the thread has not seen its commit");
}

TEST(TensorPair, CommitsArriveInBoth) {
  PairChanges changes;
  changes.peer_has_barrier = false;
  expect_one_of(changes, "of block 1, where none was initialised",
                "0x9c08, where none was initialised");
}

TEST(TensorPair, SumsOfBothAreOverwrittenWhileRead) {
  PairChanges changes;
  changes.second_tile = true;
  changes.waits_for_peers_readers = false;
  expect_one_of(changes, "writes its peer's sums to column 0 of tensor memory, where",
                "reads values in column");
}

TEST(TensorPair, AllocateTogether) {
  PairChanges changes;
  changes.knows_the_other = false;
  expect_pair_fault(changes, "and nothing tells that it has begun");
  PairChanges widths;
  widths.allocated[1] = 256;
  expect_pair_fault(widths, "they must be alike");
  PairChanges places;
  places.slots[1] = 4;
  expect_pair_fault(places, "they must be alike");
  PairChanges warps;
  warps.peers_warp = 3;
  expect_pair_fault(warps, "in another warp of its block than");
  PairChanges alone;
  alone.allocates[1] = false;
  expect_pair_fault(alone, "the other block of its pair to say tensor_allocate_pair");
}

// PTX's example of a hang: freeing may wait for the other block, which waits in turn.
TEST(TensorPair, FreeTogether) {
  PairChanges changes;
  changes.peer_frees_first = true;
  expect_pair_fault(changes, "the other block of its pair to say tensor_free_pair");
}

TEST(TensorPair, NeitherEndsBeforeTheOtherIsDone) {
  PairChanges leader;
  leader.meets_at_end = false;
  expect_pair_fault(leader, "block 0 ends, and nothing tells it that thread");
  PairChanges peer;
  peer.meets_at_end = false;
  peer.peer_waits = false;
  expect_one_of(peer, "frees column", "ends");
}

}  // namespace
}  // namespace thresher::emulator
