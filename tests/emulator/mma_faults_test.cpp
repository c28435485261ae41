// SPDX-License-Identifier: Apache-2.0
// What may not be done while an MMA is in flight, and what may not be given to one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "emulator/shared_memory.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

// One MMA on a B of ones, with a step of the caller's in its middle.
struct Rig {
  static constexpr u32 kBytes = 16 * 128;

  template <typename Middle>
  static std::string run(Middle middle, std::uint64_t seed = 0, int thread_count = 128) {
    return fault_of({.thread_count = thread_count, .shared_bytes = 2 * kBytes, .seed = seed}, [=] {
      for (auto i = static_cast<u32>(hw::thread_index()); i < kBytes / 16; i += 128) {
        hw::store_shared(hw::shared_base() + 16 * i,
                         U32x4{0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00});
      }
      hw::fence_async();
      hw::sync_block();
      middle();
    });
  }

  static u64 b() { return hw::descriptor(hw::shared_base(), 0, 1024, hw::Swizzle::k128); }
};

using hw::Operand::kFp16;

TEST(MmaFaults, SumsAreNotToBeReadInFlight) {
  EXPECT_EQ(Rig::run([] {
              float d[8] = {};
              u32 a[4] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
              hw::mma_fence();
              hw::mma<16, kFp16>(d, a, Rig::b(), false);
              hw::mma_commit();
              EXPECT_TRUE(std::isnan(d[0]));
              hw::mma_wait<1>();
              EXPECT_TRUE(std::isnan(d[0]));
              hw::mma_wait<0>();
              EXPECT_EQ(d[0], 16.0f);
            }),
            "");
}

TEST(MmaFaults, RegistersAreNotToBeWrittenInFlight) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_TRUE(contains(Rig::run(
                             [] {
                               float d[8] = {};
                               u32 a[4] = {};
                               hw::mma_fence();
                               hw::mma<16, kFp16>(d, a, Rig::b(), false);
                               hw::mma_commit();
                               a[2] = 1;
                               hw::mma_wait<0>();
                             },
                             seed),
                         "wrote the A registers of an MMA before waiting"));
    EXPECT_TRUE(contains(Rig::run(
                             [] {
                               float d[8] = {};
                               u32 a[4] = {};
                               hw::mma_fence();
                               hw::mma<16, kFp16>(d, a, Rig::b(), false);
                               hw::mma_commit();
                               d[3] = 1;
                               hw::mma_wait<0>();
                             },
                             seed),
                         "wrote accumulator 3 of an MMA before waiting"));
  }
}

TEST(MmaFaults, FencesAreNeeded) {
  EXPECT_TRUE(contains(Rig::run([] {
                         float d[8] = {};
                         const u32 a[4] = {};
                         hw::mma<16, kFp16>(d, a, Rig::b(), false);
                       }),
                       "first MMA without an mma_fence"));
}

TEST(MmaFaults, UncommittedMmasAreNotWaitedFor) {
  EXPECT_TRUE(contains(Rig::run([] {
                         float d[8] = {};
                         const u32 a[4] = {};
                         hw::mma_fence();
                         hw::mma<16, kFp16>(d, a, Rig::b(), false);
                         hw::mma_wait<0>();
                       }),
                       "ends without waiting for its last MMA"));
}

TEST(MmaFaults, AWarpgroupMustAgree) {
  EXPECT_TRUE(contains(Rig::run([] {
                         float d[8] = {};
                         const u32 a[4] = {};
                         hw::mma_fence();
                         hw::mma<16, kFp16>(d, a, Rig::b() + (hw::warp_index() == 2 ? 2 : 0),
                                            false);
                       }),
                       "of its warpgroup with B"));
  EXPECT_TRUE(contains(Rig::run([] {
                         float d[8] = {};
                         const u32 a[4] = {};
                         hw::mma_fence();
                         if (hw::warp_index() != 2) hw::mma<16, kFp16>(d, a, Rig::b(), false);
                       }),
                       "mma from registers"));
  EXPECT_TRUE(contains(Rig::run(
                           [] {
                             float d[8] = {};
                             const u32 a[4] = {};
                             hw::mma_fence();
                             if (hw::warp_index() == 4) hw::mma<16, kFp16>(d, a, Rig::b(), false);
                           },
                           0, 160),
                       "its warpgroup has only 32 threads"));
}

std::string report_of_descriptor(u64 b) {
  return Rig::run([=] {
    float d[8] = {};
    const u32 a[4] = {};
    hw::mma_fence();
    hw::mma<16, kFp16>(d, a, b, false);
    hw::mma_commit();
    hw::mma_wait<0>();
  });
}

TEST(MmaFaults, DescriptorsAreTakenApart) {
  const u32 base = kSharedBase;
  const auto k128 = hw::Swizzle::k128;
  EXPECT_EQ(report_of_descriptor(hw::descriptor(base, 0, 1024, k128)), "");
  EXPECT_EQ(report_of_descriptor(hw::descriptor(base + 96, 0, 1024, k128)), "");
  const std::pair<u64, const char*> cases[] = {
      {hw::descriptor(base + 112, 0, 1024, k128), "not in the first row of a 1024-byte group"},
      {hw::descriptor(base + 128, 0, 1024, k128), "not in the first row of a 1024-byte group"},
      {hw::descriptor(base + 64, 0, 512, hw::Swizzle::k64), "not in the first row of a 512-byte"},
      {hw::descriptor(base + 32, 0, 256, hw::Swizzle::k32), "not in the first row of a 256-byte"},
      {hw::descriptor(base, 0, 1040, k128), "no multiple of its 1024-byte group"},
      {hw::descriptor(base + 1024, 0, 1024, k128),
       "reads shared address 0xc00 by an MMA, which nobody"},
      {hw::descriptor(base, 0, 4096, k128), "row 8 lies at 0x1400, outside shared memory"},
      {hw::descriptor(0, 0, 1024, k128), "outside shared memory"},
      {hw::descriptor(base, 0, 1024, k128) | u64{1} << 49, "base offset"},
      {hw::descriptor(base, 0, 1024, k128) | u64{1} << 15, "reserved bits"},
  };
  for (const auto& [descriptor, words] : cases) {
    const std::string text = report_of_descriptor(descriptor);
    EXPECT_TRUE(contains(text, words)) << "wanted: " << words << "\nreported: " << text;
  }
  EXPECT_TRUE(
      contains(Rig::run([] { hw::descriptor(hw::shared_base() + 8, 0, 1024, hw::Swizzle::k128); }),
               "multiples of 16"));
}

TEST(MmaFaults, OperandsMustBeFencedAndInOrder) {
  EXPECT_TRUE(contains(Rig::run([] {
                         float d[8] = {};
                         const u32 a[4] = {};
                         if (hw::thread_index() == 7) hw::store_shared(hw::shared_base(), U32x4{});
                         hw::sync_block();
                         hw::mma_fence();
                         hw::mma<16, kFp16>(d, a, Rig::b(), false);
                       }),
                       "thread 7 stored there without fence_async"));
  EXPECT_TRUE(contains(Rig::run([] {
                         float d[8] = {};
                         const u32 a[4] = {};
                         hw::mma_fence();
                         hw::mma<16, kFp16>(d, a, Rig::b(), false);
                         hw::mma_commit();
                         if (hw::thread_index() == 7) hw::store_shared(hw::shared_base(), U32x4{});
                         hw::mma_wait<0>();
                       }),
                       "MMAs of warpgroup 0 may still be reading"));
}

}  // namespace
}  // namespace thresher::emulator
