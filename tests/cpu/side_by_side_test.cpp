// SPDX-License-Identifier: Apache-2.0
#include "cpu/side_by_side.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace thresher::cpu {
namespace {

TEST(SideBySide, EveryPieceIsDoneOnce) {
  for (const std::size_t count : {0u, 1u, 7u, 1000u}) {
    std::vector<std::atomic<int>> done(count);
    side_by_side(count, [&](std::size_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  }
}

// Each piece waits for all the others: one after the other they would wait for ever.
TEST(SideBySide, PiecesRunAtTheSameTime) {
  std::latch all_here(3);
  side_by_side(3, 3, [&](std::size_t) { all_here.arrive_and_wait(); });
}

TEST(SideBySide, OneThreadIsTheCallers) {
  std::set<std::thread::id> threads;
  side_by_side(20, 1, [&](std::size_t) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(SideBySide, AnExceptionArrivesWhenAllIsDone) {
  std::atomic<int> done = 0;
  const auto work = [&](std::size_t i) {
    if (i == 3) throw std::runtime_error("piece 3");
    ++done;
  };
  EXPECT_THROW(side_by_side(10, 2, work), std::runtime_error);
  EXPECT_EQ(done, 9);
}

}  // namespace
}  // namespace thresher::cpu
