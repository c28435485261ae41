// SPDX-License-Identifier: Apache-2.0
// Stores to tensor memory: what MMAs then add to, and every way to say it wrongly.
#include <gtest/gtest.h>

#include "emulator/tensor_rig.hpp"

namespace thresher::emulator {
namespace {

TensorChanges stores_first() {
  TensorChanges changes;
  changes.store_first = true;
  changes.add_at_first = true;
  return changes;
}

TEST(TensorStore, MmasAddToWhatWasStored) {
  const TensorTile tile(40, 0x38, 0x39);
  for (const bool looks : {false, true}) {
    TensorChanges changes = stores_first();
    changes.loads_stored = looks;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      std::vector<float> sums(128 * tile.columns);
      launch(TensorRig::options(seed, TensorSums::kInOrder), TensorRig(tile, changes, &sums));
      for (u32 i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(sums[i], 1 + tile.sum(i / tile.columns, i % tile.columns)) << i;
      }
    }
  }
}

TEST(TensorStore, NobodyReadsBeforeItsWait) {
  TensorChanges changes = stores_first();
  changes.wait_stores = false;
  EXPECT_TRUE(contains(TensorRig::run(changes),
                       "of tensor memory, which a store of a warp may still be writing: nothing "
                       "tells the thread of its tensor_wait_stores and tensor_fence_before"));
  changes.loads_stored = true;
  EXPECT_TRUE(contains(TensorRig::run(changes),
                       "reads values in column 0 of tensor memory, which a store of a warp may "
                       "still be writing"));
}

TEST(TensorStore, OthersNeedBothFences) {
  TensorChanges changes = stores_first();
  changes.fence_before_stored = false;
  EXPECT_TRUE(contains(TensorRig::run(changes),
                       "nothing tells the thread of its "
                       "tensor_wait_stores and tensor_fence_before"));
  changes.fence_before_stored = true;
  changes.fence_after_stored = false;
  EXPECT_TRUE(contains(TensorRig::run(changes),
                       "a store of a warp may still be writing: the "
                       "thread has learnt of it, and not said "
                       "tensor_fence_after since"));
}

TEST(TensorStore, AWarpReachesItsOwnLanes) {
  TensorChanges changes = stores_first();
  changes.store = [](hw::TensorAddress& first) { first ^= 32u << 16; };
  EXPECT_TRUE(contains(TensorRig::run(changes), "of tensor memory, and its warp reaches"));
  changes.store = [](hw::TensorAddress& first) { first += 512; };
  EXPECT_TRUE(contains(TensorRig::run(changes), "stores 8 columns of tensor memory from"));
  changes.store = [](hw::TensorAddress& first) {
    if (hw::lane_index() == 3) first += 8;
  };
  EXPECT_TRUE(contains(TensorRig::run(changes), "stores to another place of tensor memory than"));
}

TEST(TensorStore, IsWaitedForBeforeAThreadEnds) {
  const auto kernel = [] {
    const hw::SharedAddress base = hw::shared_base();
    hw::tensor_allocate(base, 32);
    hw::sync_block();
    const auto tensor = hw::load_shared<u32>(base);
    const float values[8] = {};
    hw::tensor_store(tensor, values);
  };
  EXPECT_FAULT((LaunchOptions{.thread_count = 32, .shared_bytes = 16}), kernel,
               "ends without a tensor_wait_stores behind what it stored");
}

// A second store to the same columns, and a store over what is still being loaded.
TEST(TensorStore, OverwritesNothingUnderWay) {
  const auto run = [](bool waits, bool loads) {
    return fault_of({.thread_count = 32, .shared_bytes = 16}, [=] {
      const hw::SharedAddress base = hw::shared_base();
      hw::tensor_allocate(base, 32);
      hw::sync_block();
      const auto tensor = hw::load_shared<u32>(base);
      const float values[8] = {};
      hw::tensor_store(tensor, values);
      if (waits || loads) hw::tensor_wait_stores();
      float loaded[8];
      if (loads) hw::tensor_load(tensor, loaded);
      if (loads && waits) hw::tensor_wait_loads(loaded);
      hw::tensor_store(tensor, values);
      hw::tensor_wait_stores();
      hw::tensor_fence_before();
      hw::sync_block();
      hw::tensor_fence_after();
      hw::tensor_free(tensor, 32);
    });
  };
  EXPECT_EQ(run(true, false), "");
  EXPECT_EQ(run(true, true), "");
  EXPECT_TRUE(contains(run(false, false), "where a store of a warp may still be writing"));
  EXPECT_TRUE(contains(run(false, true), "where loads of a warp may still be reading"));
}

}  // namespace
}  // namespace thresher::emulator
