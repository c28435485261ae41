// SPDX-License-Identifier: Apache-2.0
#include "cpu/pool.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "cpu/ring.hpp"

namespace thresher::cpu {
namespace {

TEST(Pool, RunsEveryThreadOnce) {
  for (const int thread_count : {1, 2, 5}) {
    Pool pool(thread_count);
    ASSERT_EQ(pool.thread_count(), thread_count);
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<int> calls(static_cast<std::size_t>(thread_count), 0);
      pool.run([&](int index) { ++calls[static_cast<std::size_t>(index)]; });
      EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(thread_count), 1));
    }
  }
}

TEST(Pool, TakesEveryIndexOnce) {
  Pool pool(3);
  std::vector<int> taken(1000, 0);
  pool.for_each(1000, [&](std::int64_t index, int) { ++taken[static_cast<std::size_t>(index)]; });
  EXPECT_EQ(taken, std::vector<int>(1000, 1));
}

// Workers fall asleep between runs that are far apart; they must wake up again.
TEST(Pool, WakesAfterSleep) {
  Pool pool(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::atomic<int> calls{0};
    pool.run([&](int) { ++calls; });
    EXPECT_EQ(calls.load(), 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST(Ring, HandsOverInOrder) {
  Ring ring;
  int slots[kRingSlots] = {};
  constexpr int kCount = 10000;
  std::thread producer([&] {
    for (int i = 0; i < kCount; ++i) {
      slots[ring.wait_for_free_slot()] = i;
      ring.publish();
    }
  });
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(slots[ring.wait_for_full_slot()], i);
    ring.release();
  }
  producer.join();
}

}  // namespace
}  // namespace thresher::cpu
