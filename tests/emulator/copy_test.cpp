// SPDX-License-Identifier: Apache-2.0
// Bulk copies both ways: their moments, their groups and their limits.
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

constexpr u32 kBytes = 256;

class Copies : public ::testing::Test {
 protected:
  Copies() {
    source_ = static_cast<u32*>(memory_.allocate(kBytes, "source"));
    target_ = static_cast<u32*>(memory_.allocate(kBytes, "target"));
    std::iota(source_, source_ + kBytes / 4, 100);
  }

  LaunchOptions options(std::uint64_t seed = 0) const {
    return {.thread_count = 32, .shared_bytes = 4096, .seed = seed, .memory = &memory_};
  }

  // Thread 0 acts; the others only take part in the start.
  template <typename Act>
  static auto after_init(Act act) {
    return [act] {
      if (hw::thread_index() == 0) {
        hw::barrier_init(barrier(), 1);
        hw::barrier_init_fence();
      }
      hw::sync_block();
      if (hw::thread_index() == 0) act();
    };
  }

  static hw::SharedAddress barrier() { return hw::shared_base(); }
  static hw::SharedAddress buffer() { return hw::shared_base() + 1024; }

  DeviceMemory memory_;
  u32* source_;
  u32* target_;
};

TEST_F(Copies, ArriveWithTheirBarrier) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    launch(options(seed), after_init([this] {
             hw::barrier_arrive_expect(barrier(), kBytes);
             hw::copy_to_shared(buffer(), source_, 96, barrier());
             hw::copy_to_shared(buffer() + 96, source_ + 24, kBytes - 96, barrier());
             hw::barrier_wait(barrier(), 0);
             for (u32 i = 0; i < kBytes / 4; ++i) {
               EXPECT_EQ(hw::load_shared<u32>(buffer() + 4 * i), 100 + i);
             }
           }));
  }
}

TEST_F(Copies, MayComeBeforeTheExpectation) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    launch(options(seed), after_init([this] {
             hw::copy_to_shared(buffer(), source_, kBytes, barrier());
             hw::barrier_arrive_expect(barrier(), kBytes);
             hw::barrier_wait(barrier(), 0);
             hw::load_shared<u32>(buffer());
           }));
  }
}

TEST_F(Copies, AreNotToBeReadBeforeTheWait) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_FAULT(options(seed), after_init([this] {
                   hw::barrier_arrive_expect(barrier(), kBytes);
                   hw::copy_to_shared(buffer(), source_, kBytes, barrier());
                   hw::load_shared<u32>(buffer() + 64);
                 }),
                 "reads shared address 0x840, which a bulk copy may still be writing: the thread "
                 "has not seen phase 0 of the barrier at 0x400 complete");
    EXPECT_FAULT(options(seed), after_init([this] {
                   hw::barrier_arrive_expect(barrier(), kBytes);
                   hw::copy_to_shared(buffer(), source_, kBytes, barrier());
                   hw::store_shared(buffer() + 64, 1u);
                 }),
                 "writes shared address 0x840, which a bulk copy may still be writing");
  }
}

TEST_F(Copies, ReachGlobalMemoryInGroups) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::fill_n(target_, kBytes / 4, 0);
    launch(options(seed), after_init([this] {
             for (u32 half = 0; half < 2; ++half) {
               for (u32 i = 0; i < 32; ++i) {
                 hw::store_shared(buffer() + 128 * half + 4 * i, 32 * half + i);
               }
               hw::fence_async();
               hw::copy_to_global(target_ + 32 * half, buffer() + 128 * half, 128);
               hw::copy_commit();
             }
             hw::copy_wait<1>();
             EXPECT_EQ(hw::load_global_coherent(target_ + 31), 31U);
             hw::copy_wait_read<0>();
             hw::store_shared(buffer() + 128, 9u);
             hw::copy_wait<0>();
             EXPECT_EQ(hw::load_global_coherent(target_ + 32), 32U);
           }));
  }
}

// The last group may still be under way after copy_wait<1> and after copy_wait_read: in some order
// of events it is, in some it is not.
TEST_F(Copies, ArriveAtNoFixedMoment) {
  std::set<u32> seen;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    target_[0] = 0;
    launch(options(seed), after_init([this, &seen] {
             hw::store_shared(buffer(), U32x4{5, 5, 5, 5});
             hw::fence_async();
             hw::copy_to_global(target_, buffer(), 16);
             hw::copy_commit();
             hw::copy_wait_read<0>();
             // A kernel must not look yet, so the test does; on its way are random pauses.
             hw::load_shared<u32>(buffer());
             seen.insert(target_[0]);
           }));
    EXPECT_EQ(target_[0], 5U);  // the end of the block waits for it
  }
  EXPECT_EQ(seen, (std::set<u32>{0, 5}));
}

TEST_F(Copies, ReportUnfencedStores) {
  EXPECT_FAULT(options(), after_init([this] {
                 hw::store_shared(buffer(), U32x4{});
                 hw::copy_to_global(target_, buffer(), 16);
               }),
               "thread 0 stored there without fence_async");
  // The fence comes before the store it should have followed.
  EXPECT_FAULT(options(), after_init([this] {
                 hw::fence_async();
                 hw::store_shared(buffer(), U32x4{});
                 hw::copy_to_global(target_, buffer(), 16);
               }),
               "without fence_async");
}

// The fence must be the writer's; one of the thread that copies does not count.
TEST_F(Copies, ReportAFenceInTheWrongThread) {
  const auto kernel = [this](int fencing_lane) {
    const int lane = hw::lane_index();
    if (lane == 3) hw::store_shared(buffer(), U32x4{});
    if (lane == 3 && fencing_lane == 3) hw::fence_async();
    hw::sync_warp();
    if (lane != 0) return;
    if (fencing_lane == 0) hw::fence_async();
    hw::copy_to_global(target_, buffer(), 16);
    hw::copy_commit();
    hw::copy_wait_read<0>();
  };
  EXPECT_EQ(fault_of(options(), [&] { kernel(3); }), "");
  EXPECT_FAULT(
      options(), [&] { kernel(0); }, "thread 3 stored there without fence_async");
}

TEST_F(Copies, ReportStoresUnderACopy) {
  EXPECT_FAULT(options(), after_init([this] {
                 hw::store_shared(buffer(), U32x4{});
                 hw::fence_async();
                 hw::copy_to_global(target_, buffer(), 16);
                 hw::copy_commit();
                 hw::store_shared(buffer(), U32x4{});
               }),
               "a bulk copy of thread 0 may still be reading");
}

TEST_F(Copies, ReportBadPlaces) {
  const auto report = [&](u32 destination, const void* source, u32 bytes) {
    return fault_of(options(), after_init([=] {
                      hw::barrier_arrive_expect(barrier(), bytes);
                      hw::copy_to_shared(buffer() + destination, source, bytes, barrier());
                    }));
  };
  EXPECT_TRUE(contains(report(0, source_, 40), "no positive multiple of 16"));
  EXPECT_TRUE(contains(report(0, source_, 0), "no positive multiple of 16"));
  EXPECT_TRUE(contains(report(8, source_, 16), "not aligned to 16"));
  EXPECT_TRUE(contains(report(0, source_ + 1, 16), "not aligned to 16"));
  EXPECT_TRUE(contains(report(3072 - 16, source_, 32), "outside shared memory"));
  EXPECT_TRUE(contains(report(0, source_ + 60, 32), "240 bytes from the start of source"));
  EXPECT_EQ(report(0, source_, 16),
            "block 0 ends without waiting for phase 0 of the barrier at 0x400, to which a copy "
            "or a commit belongs");
}

TEST_F(Copies, ReportWrongByteCounts) {
  EXPECT_FAULT(options(), after_init([this] {
                 hw::barrier_arrive_expect(barrier(), 16);
                 hw::copy_to_shared(buffer(), source_, 32, barrier());
                 hw::barrier_wait(barrier(), 0);
               }),
               "copied 16 bytes more than phase 0 of the barrier at 0x400 expects");
  EXPECT_FAULT(options(), after_init([this] {
                 hw::barrier_arrive_expect(barrier(), 32);
                 hw::copy_to_shared(buffer(), source_, 16, barrier());
                 hw::barrier_wait(barrier(), 0);
               }),
               "(phase 0 lacks 16 bytes)");
}

TEST_F(Copies, ReportABlockThatEndsTooEarly) {
  EXPECT_FAULT(options(), after_init([this] {
                 hw::store_shared(buffer(), U32x4{});
                 hw::fence_async();
                 hw::copy_to_global(target_, buffer(), 16);
                 hw::copy_commit();
               }),
               "ends without waiting for its copies");
}

}  // namespace
}  // namespace thresher::emulator
