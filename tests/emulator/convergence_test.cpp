// SPDX-License-Identifier: Apache-2.0
// Warps of which a thread went its own way: words that want the warp at once say so.
#include "emulator/convergence.hpp"

#include <gtest/gtest.h>

#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

LaunchOptions two_warps(std::uint64_t seed = 0) {
  return {.thread_count = 64, .shared_bytes = 2048, .seed = seed};
}

hw::SharedAddress own_row() {
  return hw::shared_base() + 16 + 16 * static_cast<u32>(hw::thread_index());
}

// A thread of the first warp waits for one of the second; then `after`, by all, whose rows are
// written.
template <typename After>
auto waits_alone(bool brought_back, After after) {
  return [=] {
    const hw::SharedAddress barrier = hw::shared_base();
    if (hw::thread_index() == 0) {
      hw::barrier_init(barrier, 1);
      hw::barrier_init_fence();
    }
    hw::store_shared(own_row(), U32x4{});
    hw::sync_block();
    if (hw::thread_index() == 32) hw::barrier_arrive(barrier);
    if (hw::thread_index() == 5) hw::barrier_wait(barrier, 0);
    if (brought_back) hw::sync_warp();
    after();
  };
}

template <typename After>
void expect_apart(After after, const std::string& word) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    EXPECT_EQ(fault_of(two_warps(seed), waits_alone(true, after)), "") << word;
    EXPECT_FAULT(two_warps(seed), waits_alone(false, after),
                 "says " + word +
                     ", which its warp says at once, but thread 5 has waited or issued MMAs by "
                     "itself since the warp was last together");
  }
}

TEST(Convergence, BarriersWantTheWarpAtOnce) {
  expect_apart([] { hw::sync_block(); }, "sync_block");
  expect_apart([] { hw::sync_named(1, 64); }, "sync_named");
  expect_apart(
      [] {
        hw::arrive_named(1, 64);
        hw::sync_block();
      },
      "arrive_named");
  expect_apart([] { hw::sync_block<2>(); }, "cluster_arrive");
}

TEST(Convergence, SoDoWordsOfAWarp) {
  expect_apart(
      [] {
        u32 m[4];
        hw::load_matrix_x4(own_row(), m);
      },
      "load_matrix_x4");
}

// Any word that waits for all lanes brings them together.
TEST(Convergence, ShufflesBringTheWarpBack) {
  const auto after = [] {
    hw::ballot(true);
    hw::sync_block();
  };
  EXPECT_EQ(fault_of(two_warps(), waits_alone(false, after)), "");
}

// All threads of a warp that wait are together afterwards, and so are those of other warps.
TEST(Convergence, WhoWaitTogetherAreTogether) {
  EXPECT_EQ(fault_of(two_warps(),
                     [] {
                       const hw::SharedAddress barrier = hw::shared_base();
                       if (hw::thread_index() == 0) {
                         hw::barrier_init(barrier, 32);
                         hw::barrier_init_fence();
                       }
                       hw::sync_block();
                       if (hw::warp_index() == 0) hw::barrier_wait(barrier, 0);
                       if (hw::warp_index() == 1) hw::barrier_arrive(barrier);
                       hw::sync_block();
                     }),
            "");
}

}  // namespace
}  // namespace thresher::emulator
