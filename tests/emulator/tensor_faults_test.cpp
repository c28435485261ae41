// SPDX-License-Identifier: Apache-2.0
// Everything that can be done wrongly with tensor memory and its MMAs, done wrongly once.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "emulator/tensor_rig.hpp"

namespace thresher::emulator {
namespace {

void expect_fault(const TensorChanges& changes, const char* words, u32 columns = 64) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const std::string text = TensorRig::run(changes, seed, columns);
    EXPECT_TRUE(contains(text, words)) << "wanted: " << words << "\nreported: " << text;
  }
}

template <typename Change>
void expect_mma_fault(Change change, const char* words) {
  TensorChanges changes;
  changes.mma = change;
  expect_fault(changes, words);
}

TEST(TensorFaults, NothingIsWrongAtFirst) {
  EXPECT_EQ(TensorRig::run({}), "");
  TensorChanges twice;
  twice.second_tile = true;
  for (std::uint64_t seed = 0; seed < 8; ++seed) EXPECT_EQ(TensorRig::run(twice, seed), "");
}

TEST(TensorFaults, InstructionDescriptor) {
  const std::pair<u32, const char*> cases[] = {
      {1u << 7, "has formats 0 and 1"},
      {1u << 10, "has formats 1 and 0"},
      {1u << 15, "M-major"},
      {1u << 16, "M-major"},
      {1u << 23, "UE8M0"},
      {1u << 4, "scale ids 0 and 1"},
      {1u << 29, "scale ids 1 and 0"},
      {1u << 31, "96 deep"},
      {1u << 2, "sparse"},
      {1u << 6, "reserved bits"},
      {(8u ^ 4u) << 24, "has 64 rows"},
      {(8u ^ 16u) << 24, "has 256 rows"},
      {(8u ^ 33u) << 17, "has 264 columns"},
      {8u << 17, "has 0 columns"},
  };
  for (const auto& [flip, words] : cases) {
    expect_mma_fault([flip = flip](hw::BlockScaledMma& mma) { mma.instruction ^= flip; }, words);
  }
}

TEST(TensorFaults, MatrixDescriptor) {
  const std::pair<u64, const char*> cases[] = {
      {u64{1} << 46, "has 0 in bits 46 to 48"},
      {u64{1} << 49, "base offset"},
      {u64{1} << 52, "absolute address"},
      {u64{1} << 53, "reserved bits"},
      {u64{1} << 14, "reserved bits"},
      {u64{3} << 61, "layout 1"},
      {u64{8}, "not in the first row of a 1024-byte group"},
      {u64{1} << 32, "no multiple of its 1024-byte group"},
      {u64{1} << 13, "outside shared memory"},
  };
  for (const auto& [flip, words] : cases) {
    expect_mma_fault([flip = flip](hw::BlockScaledMma& mma) { mma.a ^= flip; }, words);
    expect_mma_fault([flip = flip](hw::BlockScaledMma& mma) { mma.b ^= flip; }, words);
  }
}

TEST(TensorFaults, PlacesInTensorMemory) {
  using Mma = hw::BlockScaledMma;
  expect_mma_fault([](Mma& mma) { mma.sums += 1u << 16; }, "sums begin in lane 1");
  expect_mma_fault([](Mma& mma) { mma.sums += 500; }, "of which 12 are allocated");
  expect_mma_fault([](Mma& mma) { mma.a_scales += 2; }, "no multiple of 4 columns");
  expect_mma_fault([](Mma& mma) { mma.b_scales += 1; }, "no multiple of 2 columns");
  expect_mma_fault([](Mma& mma) { mma.sums += 240; }, "and scales in 256 to 259 of them");
  expect_mma_fault([](Mma& mma) { mma.a_scales += 64; },
                   "reads scales of A in column 320 of tensor memory, which nobody has written");
  TensorChanges unallocated;
  unallocated.allocated = 256;
  expect_fault(unallocated, "which is not allocated");
}

TEST(TensorFaults, Copies) {
  TensorChanges changes;
  changes.copy = [](hw::TensorAddress& to, u64&) { to += 2; };
  expect_fault(changes, "a copy of scales in 4 columns of tensor memory from 258 on, no multiple");
  changes.copy = [](hw::TensorAddress&, u64& from) { from |= u64{2} << 61; };
  expect_fault(changes, "is swizzled, and scales are not");
  changes.copy = [](hw::TensorAddress&, u64& from) { from += u64{8} << 32; };
  expect_fault(changes, "groups of 8 rows 256 bytes apart");
  TensorChanges none;
  none.copy_scales = false;
  expect_fault(none, "reads scales of A in column 256 of tensor memory, which nobody has written");
}

TEST(TensorFaults, StoresNeedTheProxysFence) {
  TensorChanges changes;
  changes.fence_async = false;
  expect_fault(changes, "stored there without fence_async");
}

TEST(TensorFaults, SumsMustBeThereToBeAddedTo) {
  TensorChanges changes;
  changes.add_at_first = true;
  expect_fault(changes, "reads sums in column 0 of tensor memory, which nobody has written");
}

TEST(TensorFaults, ReadsBeforeTheCommit) {
  TensorChanges changes;
  changes.wait = false;
  const std::string text = TensorRig::run(changes);
  EXPECT_TRUE(contains(text, "the thread has not seen its commit") ||
              contains(text, "which nobody has written"))
      << text;
  TensorChanges never;
  never.commit = false;
  expect_fault(never, "deadlock");
}

TEST(TensorFaults, FenceAfterABarrier) {
  TensorChanges changes;
  changes.fence_after = false;
  expect_fault(changes, "has learnt of it, and not said tensor_fence_after since");
}

void expect_no_values(const TensorChanges& changes) {
  const TensorTile tile(64);
  std::vector<float> sums(128 * 64);
  EXPECT_TRUE(contains(fault_of(TensorRig::options(0), TensorRig(tile, changes, &sums)),
                       "ends without a tensor_wait_loads that names what it loaded"));
  for (const float sum : sums) ASSERT_TRUE(std::isnan(sum));
}

TEST(TensorFaults, ValuesAreNanUntilWaitedFor) {
  TensorChanges changes;
  changes.wait_loads = false;
  expect_no_values(changes);
}

// The compiler may move what is done with them before a wait that names others.
TEST(TensorFaults, AWaitNamesItsValues) {
  TensorChanges changes;
  changes.wait_names_values = false;
  expect_no_values(changes);
}

TEST(TensorFaults, SumsAreOverwrittenWhileRead) {
  TensorChanges changes;
  changes.second_tile = true;
  changes.waits_for_readers = false;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string text = TensorRig::run(changes, seed);
    // Either side may notice first: the MMA that overwrites, or the load of what is overwritten.
    EXPECT_TRUE(contains(text, "may still be")) << text;
  }
  TensorChanges unfenced;
  unfenced.second_tile = true;
  unfenced.fence_before = false;
  expect_fault(unfenced, "loads of a warp may still be reading: nothing tells the thread");
}

// PTX orders a copy before an MMA, and no copy behind one.
TEST(TensorFaults, ScalesAreOverwrittenWhileRead) {
  TensorChanges changes;
  changes.copy = [](hw::TensorAddress& to, u64&) { to = to / 32 * 32; };
  changes.mma = [](hw::BlockScaledMma& mma) {
    mma.a_scales = mma.a_scales / 32 * 32;
    mma.b_scales = mma.b_scales / 32 * 32;
  };
  expect_fault(changes, "writes scales to column 256 of tensor memory, where a");
}

// An MMA of another shape on the same sums is not in the pipeline.
TEST(TensorFaults, AnotherShapeOnTheSameSums) {
  TensorChanges changes;
  int count = 0;
  changes.mma = [&count](hw::BlockScaledMma& mma) {
    if (++count % 4 == 2) mma.instruction = hw::block_scaled_instruction(32);
  };
  expect_fault(changes, "reads sums in column 0 of tensor memory, which an MMA may still be");
}

TEST(TensorFaults, AWarpReachesItsOwnLanes) {
  TensorChanges changes;
  changes.load = [](hw::TensorAddress& first) { first &= 0xffff; };
  expect_fault(changes, "loads lanes 0 on of tensor memory, and its warp reaches");
  changes.load = [](hw::TensorAddress& first) { first += hw::lane_index() == 7 ? 8 : 0; };
  const std::string text = TensorRig::run(changes);
  EXPECT_TRUE(contains(text, "another place of tensor memory") ||
              contains(text, "which nobody has written"))
      << text;
  changes.load = [](hw::TensorAddress& first) { first += 508; };
  expect_fault(changes, "of which 4 are allocated");
}

TEST(TensorFaults, Allocations) {
  TensorChanges changes;
  changes.allocated = 48;
  expect_fault(changes, "no power of two from 32 to 512");
  changes.allocated = 512;
  changes.second_allocation = true;
  expect_fault(changes, "it would wait for ever");
  TensorChanges kept;
  kept.frees = false;
  expect_fault(kept, "ends with 512 columns of tensor memory not freed");
  TensorChanges half;
  half.release = [](hw::TensorAddress&, u32& columns) { columns = 256; };
  expect_fault(half, "which is no allocation");
}

TEST(TensorFaults, FreedWhileInUse) {
  TensorChanges changes;
  changes.frees_after_wait = false;
  expect_fault(changes, "frees column 0 of tensor memory, where");
  TensorChanges unread;
  unread.fence_before = false;
  expect_fault(unread, "frees column 0 of tensor memory, where loads of a warp");
}

TEST(TensorFaults, BarriersAreFenced) {
  TensorChanges changes;
  changes.barrier_fence = false;
  expect_fault(changes, "which had no barrier_init_fence");
}

TEST(TensorFaults, AllocatesNoMore) {
  const auto kernel = [] {
    hw::tensor_allocate_no_more();
    hw::tensor_allocate(hw::shared_base(), 32);
  };
  EXPECT_FAULT((LaunchOptions{.thread_count = 32, .shared_bytes = 64}), kernel,
               "after tensor_allocate_no_more");
}

}  // namespace
}  // namespace thresher::emulator
