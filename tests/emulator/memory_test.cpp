// SPDX-License-Identifier: Apache-2.0
// Ordinary accesses to shared and global memory, matrix stores and atomics.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

constexpr LaunchOptions kOneWarp{.thread_count = 32, .shared_bytes = 4096};

// Runs `act` in one thread only.
template <typename Act>
auto one_thread(Act act) {
  return [act] {
    if (hw::thread_index() == 0) act();
  };
}

template <typename T>
void check_round_trip(T value, DeviceMemory& memory) {
  auto* const global = static_cast<T*>(memory.allocate(3 * sizeof(T)));
  LaunchOptions options = kOneWarp;
  options.memory = &memory;
  launch(options, one_thread([=] {
           hw::store_shared(hw::shared_base() + 16, value);
           hw::store_global(global + 1, hw::load_shared<T>(hw::shared_base() + 16));
           hw::store_global(global + 2, hw::load_global_coherent(global + 1));
         }));
  launch(options, one_thread([=] {
           const T back = hw::load_global(global + 2);
           EXPECT_EQ(std::memcmp(&back, &value, sizeof(T)), 0);
         }));
}

TEST(Memory, CarriesEveryType) {
  DeviceMemory memory;
  check_round_trip<u8>(0xa5, memory);
  check_round_trip<u16>(0xa55a, memory);
  check_round_trip<u32>(0xdeadbeef, memory);
  check_round_trip<u64>(0x0123456789abcdef, memory);
  check_round_trip<float>(-1.5f, memory);
  check_round_trip<U32x2>({1, 2}, memory);
  check_round_trip<U32x4>({1, 2, 3, 4}, memory);
}

TEST(SharedMemory, ReportsBadAddresses) {
  EXPECT_FAULT(kOneWarp, one_thread([] { hw::load_shared<u32>(hw::shared_base() + 2); }),
               "not aligned to 4 bytes");
  EXPECT_FAULT(kOneWarp, one_thread([] { hw::store_shared(hw::shared_base() + 4096, u8{0}); }),
               "outside shared memory");
  EXPECT_FAULT(kOneWarp, one_thread([] { hw::load_shared<u32>(0); }), "outside shared memory");
}

TEST(SharedMemory, ReportsReadsOfWhatNobodyWrote) {
  EXPECT_FAULT(kOneWarp, one_thread([] {
                 hw::store_shared(hw::shared_base(), u16{1});
                 hw::load_shared<u32>(hw::shared_base());
               }),
               "thread 0 (warp 0) reads shared address 0x402, which nobody has written");
}

// Neighbours in the same 16 bytes are no conflict; the same byte is.
TEST(SharedMemory, TellsBytesApart) {
  const auto kernel = [](u32 distance) {
    const u32 own = hw::shared_base() + distance * static_cast<u32>(hw::lane_index());
    hw::store_shared(own, u8{1});
    for (u8 i = 0; i < 4; ++i) {
      hw::store_shared(own, static_cast<u8>(hw::load_shared<u8>(own) + 1));
    }
  };
  EXPECT_EQ(fault_of(kOneWarp, [&] { kernel(1); }), "");
  EXPECT_FAULT(
      kOneWarp, [&] { kernel(0); }, "with no barrier in between");
}

TEST(SharedMemory, ReportsAWriteUnderAReader) {
  EXPECT_FAULT(
      kOneWarp,
      [] {
        if (hw::lane_index() == 0) hw::store_shared(hw::shared_base(), 1u);
        hw::sync_warp();
        if (hw::lane_index() == 5) hw::load_shared<u32>(hw::shared_base());
        hw::shuffle(0, 0);
        if (hw::lane_index() == 6) hw::store_shared(hw::shared_base(), 2u);
      },
      "thread 6 (warp 0) writes shared address 0x400, which thread 5 reads");
}

TEST(GlobalMemory, ReportsBadAddresses) {
  DeviceMemory memory;
  auto* const words = static_cast<u32*>(memory.allocate(40, "words"));
  const u32 constant[4] = {};
  memory.add_read_only(constant, sizeof(constant), "constant");
  LaunchOptions options = kOneWarp;
  options.memory = &memory;
  EXPECT_FAULT(options, one_thread([=] { hw::load_global(words + 10); }),
               "40 bytes from the start of words (40 bytes)");
  EXPECT_FAULT(options, one_thread([=] { hw::load_global(reinterpret_cast<U32x4*>(words) + 2); }),
               "32 bytes from the start of words");
  EXPECT_FAULT(options, one_thread([=] { hw::load_global(reinterpret_cast<u64*>(words + 1)); }),
               "not aligned");
  EXPECT_FAULT(options, one_thread([&] { hw::store_global(const_cast<u32*>(constant), 1u); }),
               "read-only: constant");
  EXPECT_FAULT(kOneWarp, one_thread([=] { hw::load_global(words); }), "no device memory");
}

TEST(GlobalMemory, BlocksTakeWorkByAtomics) {
  DeviceMemory memory;
  auto* const next = static_cast<u32*>(memory.allocate(4));
  auto* const owners = static_cast<u32*>(memory.allocate(100 * 4));
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    *next = 0;
    std::memset(owners, 0, 400);
    launch({.block_count = 5,
            .thread_count = 64,
            .shared_bytes = 16,
            .seed = seed,
            .memory = &memory,
            .resident_block_count = 3},
           [=] {
             while (true) {
               if (hw::thread_index() == 0) {
                 hw::store_shared(hw::shared_base(), hw::atomic_add(next, 1));
               }
               hw::sync_block();
               const u32 task = hw::load_shared<u32>(hw::shared_base());
               hw::sync_block();
               if (task >= 100) return;
               if (hw::thread_index() == 63) hw::atomic_add(owners + task, 1);
             }
           });
    EXPECT_EQ(std::vector<u32>(owners, owners + 100), std::vector<u32>(100, 1));
  }
}

TEST(GlobalMemory, BlocksMayWaitForResidentOnes) {
  DeviceMemory memory;
  auto* const flag = static_cast<u32*>(memory.allocate(4));
  *flag = 0;
  const auto kernel = [=](u32 wanted) {
    if (hw::thread_index() != 0) return;
    hw::fence_device();
    hw::atomic_add(flag, 1);
    while (hw::load_global_coherent(flag) < wanted) {
    }
  };
  LaunchOptions options{.block_count = 3, .thread_count = 32, .memory = &memory};
  options.resident_block_count = 3;
  launch(options, [=] { kernel(3); });
  options.resident_block_count = 2;
  EXPECT_FAULT(
      options, [=] { kernel(6); }, "again and again");
}

// Element (r, c) of matrix i is 1000*i + 10*r + c, held as the contract says.
void store_numbers(bool transposed) {
  const auto lane = static_cast<u32>(hw::lane_index());
  u32 values[4];
  for (u32 i = 0; i < 4; ++i) {
    const u32 first = 1000 * i + 10 * (lane / 4) + 2 * (lane % 4);
    values[i] = first | (first + 1) << 16;
  }
  // Rows of 48 bytes, so that a wrong address shows.
  const u32 row = hw::shared_base() + lane * 48;
  if (transposed) {
    hw::store_matrix_x4_transposed(row, values[0], values[1], values[2], values[3]);
  } else {
    hw::store_matrix_x4(row, values[0], values[1], values[2], values[3]);
  }
  hw::sync_warp();
  for (u32 column = 0; column < 8; ++column) {
    const u32 expected =
        1000 * (lane / 8) + (transposed ? 10 * column + lane % 8 : 10 * (lane % 8) + column);
    EXPECT_EQ(hw::load_shared<u16>(row + 2 * column), expected);
  }
}

TEST(StoreMatrix, PlacesEveryElement) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    LaunchOptions options = kOneWarp;
    options.seed = seed;
    launch(options, [] { store_numbers(false); });
    launch(options, [] { store_numbers(true); });
  }
}

TEST(StoreMatrix, ReportsMisalignedRows) {
  EXPECT_FAULT(
      kOneWarp, [] { hw::store_matrix_x4(hw::shared_base() + 8, 0, 0, 0, 0); },
      "not aligned to 16 bytes");
}

TEST(DeviceMemory, RefusesOverlapsAndStrangers) {
  DeviceMemory memory;
  void* const first = memory.allocate(100, "first");
  EXPECT_THROW(memory.add(static_cast<char*>(first) + 50, 10), Error);
  EXPECT_THROW(memory.add(static_cast<char*>(first) - 50, 60), Error);
  EXPECT_THROW(memory.release(static_cast<char*>(first) + 1), Error);
  EXPECT_EQ(memory.fault(first, 100, true), std::nullopt);
  memory.release(first);
  EXPECT_NE(memory.fault(first, 1, false), std::nullopt);
}

}  // namespace
}  // namespace thresher::emulator
