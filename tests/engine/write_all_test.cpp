// SPDX-License-Identifier: Apache-2.0
#include "write_all.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace thresher {
namespace {

// Into a pipe that nobody empties until signals have come: each ends a call early, some before it
// has written anything.
TEST(WriteAll, GoesOnAfterASignal) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  struct sigaction before = {};
  sigaction(SIGUSR1, &action, &before);
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  const std::string text(1 << 20, 'x');
  std::atomic<bool> written = false;
  std::thread writer([&] {
    EXPECT_TRUE(write_all(ends[1], text));
    written = true;
    close(ends[1]);
  });
  std::string read_back;
  char part[4096];
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pthread_kill(writer.native_handle(), SIGUSR1);
  }
  EXPECT_FALSE(written) << "a pipe does not hold so much";
  for (ssize_t count = 0; (count = read(ends[0], part, sizeof part)) > 0;) {
    read_back.append(part, static_cast<std::size_t>(count));
  }
  writer.join();
  close(ends[0]);
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(read_back, text);
}

TEST(WriteAll, SaysWhenTheSystemRefuses) {
  errno = 0;
  EXPECT_FALSE(write_all(-1, "x"));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace thresher
