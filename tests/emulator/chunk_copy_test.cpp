// SPDX-License-Identifier: Apache-2.0
// Chunk copies: their groups, what must come between them and a read, and their limits.
#include <gtest/gtest.h>

#include <numeric>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

class ChunkCopies : public ::testing::Test {
 protected:
  ChunkCopies() {
    source_ = static_cast<u32*>(memory_.allocate(kBytes, "source"));
    target_ = static_cast<u32*>(memory_.allocate(kBytes, "target"));
    std::iota(source_, source_ + kBytes / 4, 100);
  }

  LaunchOptions options() const {
    return {.thread_count = 32, .shared_bytes = 4096, .memory = &memory_};
  }

  // By thread 0 alone.
  template <typename Act>
  static auto by_one(Act act) {
    return [act] {
      if (hw::thread_index() == 0) act();
    };
  }

  static constexpr u32 kBytes = 64;
  static hw::SharedAddress buffer() { return hw::shared_base() + 1024; }

  DeviceMemory memory_;
  u32* source_;
  u32* target_;
};

TEST_F(ChunkCopies, ArriveInGroups) {
  launch(options(), by_one([this] {
           hw::copy_chunk(buffer(), source_, true);
           hw::chunks_commit();
           hw::copy_chunk(buffer() + 16, source_ + 4, true);
           hw::copy_chunk(buffer() + 32, nullptr, false);
           hw::chunks_commit();
           hw::chunks_wait<1>();
           EXPECT_EQ(hw::load_shared<u32>(buffer() + 12), 103U);
           hw::chunks_wait<0>();
           EXPECT_EQ(hw::load_shared<u32>(buffer() + 16), 104U);
           EXPECT_EQ(hw::load_shared<u32>(buffer() + 32), 0U);
         }));
}

TEST_F(ChunkCopies, AreNotToBeTouchedBeforeTheWait) {
  const char* const words =
      "which a chunk copy of thread 0 may still be on its way to: nothing tells of its chunks_wait";
  EXPECT_FAULT(options(), by_one([this] {
                 hw::copy_chunk(buffer(), source_, true);
                 hw::chunks_commit();
                 hw::load_shared<u32>(buffer());
               }),
               words);
  EXPECT_FAULT(options(), by_one([this] {
                 hw::copy_chunk(buffer(), source_, true);
                 hw::chunks_commit();
                 hw::chunks_wait<1>();
                 hw::store_shared(buffer(), 1u);
               }),
               words);
}

// A barrier tells another thread of what the copying one has waited for, and of nothing else.
TEST_F(ChunkCopies, AreKnownToOthersThroughABarrier) {
  const auto kernel = [this](bool waits) {
    return [this, waits] {
      if (hw::thread_index() == 0) {
        hw::copy_chunk(buffer(), source_, true);
        hw::chunks_commit();
        if (waits) hw::chunks_wait<0>();
      }
      hw::sync_block();
      if (hw::thread_index() == 1) {
        EXPECT_EQ(hw::load_shared<u32>(buffer()), 100U);
      }
      if (!waits) hw::chunks_wait<0>();
    };
  };
  launch(options(), kernel(true));
  EXPECT_FAULT(options(), kernel(false), "thread 1 (warp 0) reads shared address 0x800");
}

// What copies and MMAs read of them needs the fence that stores need.
TEST_F(ChunkCopies, AreStores) {
  const auto kernel = [this](bool fences) {
    return by_one([this, fences] {
      hw::copy_chunk(buffer(), source_, true);
      hw::chunks_commit();
      hw::chunks_wait<0>();
      if (fences) hw::fence_async();
      hw::copy_to_global(target_, buffer(), 16);
      hw::copy_commit();
      hw::copy_wait<0>();
      EXPECT_EQ(target_[3], 103U);
    });
  };
  launch(options(), kernel(true));
  EXPECT_FAULT(options(), kernel(false),
               "but a chunk copy stored there without fence_async before the barrier");
}

TEST_F(ChunkCopies, ReportWhatIsOutOfPlace) {
  const auto copy = [this](u32 offset, const u32* source, bool exists) {
    return by_one([offset, source, exists] {
      hw::copy_chunk(buffer() + offset, source, exists);
      hw::chunks_commit();
      hw::chunks_wait<0>();
    });
  };
  EXPECT_FAULT(options(), copy(4, source_, true), "not aligned to 16 bytes");
  EXPECT_FAULT(options(), copy(0, source_ + 1, true), "not aligned to 16");
  EXPECT_FAULT(options(), copy(0, source_ + kBytes / 4, true), "copies 16 bytes from global");
  EXPECT_FAULT(options(), copy(8192, nullptr, false), "outside shared memory");
  EXPECT_FAULT(options(), by_one([this] { hw::copy_chunk(buffer(), source_, true); }),
               "ends without waiting for its chunk copies");
}

}  // namespace
}  // namespace thresher::emulator
