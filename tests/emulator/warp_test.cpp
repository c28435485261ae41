// SPDX-License-Identifier: Apache-2.0
// Copies by thread and MMAs by warp: right values in every order of events, and every planted fault
// found by name.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gemm/random.hpp"
#include "gpu/hw/hw.cuh"
#include "nvfp4/half.hpp"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

constexpr u32 kSourceBytes = 4096;

class Pieces : public ::testing::Test {
 protected:
  Pieces() {
    source_ = static_cast<u32*>(memory_.allocate(kSourceBytes, "source"));
    std::iota(source_, source_ + kSourceBytes / 4, 100);
  }

  LaunchOptions options(std::uint64_t seed = 0, int thread_count = 64) const {
    return {.thread_count = thread_count, .shared_bytes = 4096, .seed = seed, .memory = &memory_};
  }
  static hw::SharedAddress place(int thread) {
    return hw::shared_base() + static_cast<u32>(thread) * 16;
  }
  const u32* own_source() const { return source_ + 4 * hw::thread_index(); }
  static int neighbour() { return (hw::thread_index() + 33) % hw::thread_count(); }

  void expect_fault(const std::function<void()>& kernel, const char* words) const {
    for (std::uint64_t seed = 0; seed < 8; ++seed) EXPECT_FAULT(options(seed), kernel, words);
  }

  DeviceMemory memory_;
  u32* source_;
};

TEST_F(Pieces, ArriveInGroups) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    launch(options(seed), [this] {
      const int thread = hw::thread_index();
      hw::copy_piece(place(thread), own_source());
      hw::pieces_commit();
      hw::copy_piece(place(64 + thread), own_source() + 256);
      hw::pieces_commit();
      hw::pieces_wait<1>();
      EXPECT_EQ(hw::load_shared<u32>(place(thread) + 4), 101u + 4 * static_cast<u32>(thread));
      hw::sync_block();
      const auto other = static_cast<u32>(neighbour());
      EXPECT_EQ(hw::load_shared<u32>(place(neighbour())), 100u + 4 * other);
      hw::pieces_wait<0>();
      EXPECT_EQ(hw::load_shared<u32>(place(64 + thread)), 356u + 4 * static_cast<u32>(thread));
    });
  }
}

TEST_F(Pieces, ThatDoNotExistAreZerosAndReadNothing) {
  launch(options(), [] {
    hw::copy_piece(place(hw::thread_index()), nullptr, /*exists=*/false);
    hw::pieces_commit();
    hw::pieces_wait<0>();
    EXPECT_EQ(hw::load_shared<u32>(place(hw::thread_index()) + 12), 0u);
  });
}

// A pipeline as kernels have it, two groups in flight over three stages.
TEST_F(Pieces, PipelineOverAllSeeds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    launch(options(seed), [this] {
      const auto load = [this](u32 round) {
        if (round < 8) {
          hw::copy_piece(place(static_cast<int>(round % 3) * 64 + hw::thread_index()),
                         source_ + 4 * (static_cast<u32>(hw::thread_index()) + 16 * round));
        }
        hw::pieces_commit();
      };
      load(0);
      load(1);
      for (u32 round = 0; round < 8; ++round) {
        hw::pieces_wait<1>();
        hw::sync_block();
        load(round + 2);
        const auto other = static_cast<u32>(neighbour());
        EXPECT_EQ(hw::load_shared<u32>(place(static_cast<int>(round % 3) * 64 + neighbour())),
                  100u + 4 * (other + 16 * round));
      }
      hw::pieces_wait<0>();
    });
  }
}

TEST_F(Pieces, FaultReadBeforeTheWait) {
  expect_fault(
      [this] {
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::pieces_commit();
        hw::load_shared<u32>(place(hw::thread_index()));
      },
      "may still be writing: nothing tells of its pieces_wait");
}

TEST_F(Pieces, FaultReadOfAGroupStillPending) {
  expect_fault(
      [this] {
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::pieces_commit();
        hw::pieces_wait<1>();
        hw::load_shared<u32>(place(hw::thread_index()));
      },
      "may still be writing: nothing tells of its pieces_wait");
}

TEST_F(Pieces, FaultWaitWithoutCommit) {
  expect_fault(
      [this] {
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::pieces_wait<0>();
        hw::load_shared<u32>(place(hw::thread_index()));
      },
      "may still be writing: nothing tells of its pieces_wait");
}

TEST_F(Pieces, FaultReadOfAnothersWithoutABarrier) {
  expect_fault(
      [this] {
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::pieces_commit();
        hw::pieces_wait<0>();
        hw::load_shared<u32>(place(neighbour()));
      },
      "reads shared address");
}

// The barrier came before the wait: it tells nobody of the copy.
TEST_F(Pieces, FaultBarrierBeforeTheWait) {
  expect_fault(
      [this] {
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::pieces_commit();
        hw::sync_block();
        hw::pieces_wait<0>();
        hw::load_shared<u32>(place(neighbour()));
      },
      "may still be writing: nothing tells of its pieces_wait");
}

TEST_F(Pieces, FaultRefillOfAStageThatOthersRead) {
  expect_fault(
      [this] {
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::pieces_commit();
        hw::pieces_wait<0>();
        hw::sync_block();
        hw::load_shared<u32>(place(neighbour()));
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::pieces_commit();
        hw::pieces_wait<0>();
      },
      "shared address");  // whoever comes second is reported: the reader, or the copy
}

TEST_F(Pieces, FaultTwoCopiesToOnePlace) {
  expect_fault(
      [this] {
        for (int i = 0; i < 2; ++i) {
          hw::copy_piece(place(hw::thread_index()), own_source());
          hw::pieces_commit();
        }
        hw::pieces_wait<0>();
      },
      "may still be writing");
}

TEST_F(Pieces, FaultStoreOverACopyInFlight) {
  expect_fault(
      [this] {
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::store_shared(place(hw::thread_index()), 1u);
        hw::pieces_commit();
        hw::pieces_wait<0>();
      },
      "writes shared address");
}

TEST_F(Pieces, FaultEndWithoutTheWait) {
  expect_fault(
      [this] {
        hw::copy_piece(place(hw::thread_index()), own_source());
        hw::pieces_commit();
      },
      "ends without waiting for its copies of pieces to shared memory");
}

TEST_F(Pieces, FaultAddresses) {
  expect_fault([this] { hw::copy_piece(hw::shared_base() + 8, source_); }, "not aligned to 16");
  expect_fault([this] { hw::copy_piece(hw::shared_base(), source_ + 2); }, "not aligned to 16");
  expect_fault([this] { hw::copy_piece(hw::shared_base() + 4096, source_); },
               "outside shared memory");
  expect_fault([this] { hw::copy_piece(hw::shared_base(), source_ + kSourceBytes / 4); },
               "bytes from the start of source");
}

// Lane l's share of a matrix: row l / 4, values 2 * (l % 4) and the next.
TEST(LoadMatrix, GivesEveryLaneItsPairs) {
  launch({.thread_count = 32, .shared_bytes = 512}, [] {
    const auto lane = static_cast<u32>(hw::lane_index());
    for (u32 i = 0; i < 4; ++i) {
      hw::store_shared(hw::shared_base() + 16 * lane + 4 * i, 1000 * lane + i);
    }
    hw::sync_warp();
    // Rows in another order than they lie.
    const u32 named = lane ^ 5;
    u32 m[4];
    hw::load_matrix_x4(hw::shared_base() + 16 * named, m);
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(m[i], 1000 * ((8 * i + lane / 4) ^ 5) + lane % 4);
  });
}

TEST(LoadMatrix, Faults) {
  const LaunchOptions options{.thread_count = 32, .shared_bytes = 512};
  u32 m[4];
  EXPECT_FAULT(
      options, [&] { hw::load_matrix_x4(hw::shared_base() + 8, m); }, "not aligned to 16");
  EXPECT_FAULT(
      options, [&] { hw::load_matrix_x4(hw::shared_base() + 512, m); }, "outside shared memory");
  EXPECT_FAULT(
      options, [&] { hw::load_matrix_x4(hw::shared_base(), m); }, "which nobody has written");
  // Each lane names the row that it has stored itself, but all lanes read it.
  EXPECT_FAULT(
      options,
      [&] {
        const hw::SharedAddress row = hw::shared_base() + 16 * static_cast<u32>(hw::lane_index());
        hw::store_shared(row, U32x4{});
        hw::load_matrix_x4(row, m);
      },
      "by load_matrix_x4, which thread");
}

// Small integers: every sum is exact, whatever the order.
class WarpMmas : public ::testing::TestWithParam<hw::Operand> {};
INSTANTIATE_TEST_SUITE_P(Types, WarpMmas,
                         ::testing::Values(hw::Operand::kFp16, hw::Operand::kBf16));

TEST_P(WarpMmas, AddTheProduct) {
  Random random(3);
  std::vector<float> a(16 * 16);
  std::vector<float> b(16 * 8);
  for (float& value : a) value = static_cast<float>(random.between(-8, 8));
  for (float& value : b) value = static_cast<float>(random.between(-8, 8));
  const auto bits = [](float value) -> u32 {
    return GetParam() == hw::Operand::kFp16 ? nvfp4::float_to_fp16(value)
                                            : nvfp4::float_to_bf16(value);
  };
  const auto pair_a = [&](int row, int k) {
    const std::size_t at = static_cast<std::size_t>(16 * row + k);
    return bits(a[at]) | bits(a[at + 1]) << 16;
  };
  const auto pair_b = [&](int k, int column) {
    const std::size_t at = static_cast<std::size_t>(8 * k + column);
    return bits(b[at]) | bits(b[at + 8]) << 16;
  };
  launch({.thread_count = 64}, [&] {
    const int r = hw::lane_index() / 4;
    const int c = 2 * (hw::lane_index() % 4);
    const u32 a_own[4] = {pair_a(r, c), pair_a(r + 8, c), pair_a(r, c + 8), pair_a(r + 8, c + 8)};
    const u32 b_own[2] = {pair_b(c, r), pair_b(c + 8, r)};
    float d[4] = {1, 2, 3, 4};
    if (GetParam() == hw::Operand::kFp16) {
      hw::mma_warp<hw::Operand::kFp16>(d, a_own, b_own);
    } else {
      hw::mma_warp<hw::Operand::kBf16>(d, a_own, b_own);
    }
    for (int i = 0; i < 4; ++i) {
      float sum = static_cast<float>(i + 1);
      for (int k = 0; k < 16; ++k) {
        sum += a[static_cast<std::size_t>(16 * (r + 8 * (i / 2)) + k)] *
               b[static_cast<std::size_t>(8 * k + c + i % 2)];
      }
      EXPECT_EQ(d[i], sum);
    }
  });
}

TEST(WarpMma, FaultsOfWarpsThatAreNotTogether) {
  const u32 a[4] = {};
  const u32 b[2] = {};
  EXPECT_FAULT((LaunchOptions{.thread_count = 32}),
               [&] {
                 float d[4] = {};
                 if (hw::lane_index() == 7) return;
                 hw::mma_warp<hw::Operand::kFp16>(d, a, b);
               },
               "mma_warp");
  EXPECT_FAULT((LaunchOptions{.thread_count = 32}),
               [&] {
                 float d[4] = {};
                 if (hw::lane_index() < 16) hw::sync_warp();
                 hw::mma_warp<hw::Operand::kFp16>(d, a, b);
               },
               "mma_warp");
}

}  // namespace
}  // namespace thresher::emulator
