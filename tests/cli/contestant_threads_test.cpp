// SPDX-License-Identifier: Apache-2.0
#include "cli/contestant_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cpu/features.hpp"

namespace thresher::cli {
namespace {

TEST(ContestantThreads, AreThoseAskedFor) { EXPECT_EQ(contestant_threads(7), 7); }

TEST(ContestantThreads, LeaveOutWhatIsBusy) {
  const int core_count = cpu::usable_core_count();
  if (core_count < 2) GTEST_SKIP() << "one core has to do whoever uses it";
  std::atomic<bool> done{false};
  std::thread busy([&] {
    while (!done) continue;
  });
  const int thread_count = contestant_threads(0);
  done = true;
  busy.join();
  EXPECT_GE(thread_count, 1);
  EXPECT_LT(thread_count, core_count);
}

}  // namespace
}  // namespace thresher::cli
