// SPDX-License-Identifier: Apache-2.0
#include "cpu/pool.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cpu/ring.hpp"
#include "thresher/error.hpp"

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

// Stretches of any length, a thread without one, and one that must help.
TEST(Pool, TakesEveryIndexOfAllStretchesOnce) {
  for (const int thread_count : {1, 2, 3}) {
    Pool pool(thread_count);
    for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<int> taken(static_cast<std::size_t>(count), 0);
      pool.for_each_in_stretches(count, [&](std::int64_t index, int) {
        if (index == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++taken[static_cast<std::size_t>(index)];
      });
      EXPECT_EQ(taken, std::vector<int>(static_cast<std::size_t>(count), 1));
    }
  }
}

// A thread that the system does not let run: it stays in a signal's handler until it is let go.
class HeldThread {
 public:
  explicit HeldThread(pthread_t thread) {
    struct sigaction hold {};
    hold.sa_handler = [](int) {
      is_held = true;
      while (is_held) {
      }
    };
    sigaction(SIGUSR1, &hold, &before_);
    pthread_kill(thread, SIGUSR1);
    while (!is_held) std::this_thread::yield();
  }
  ~HeldThread() {
    is_held = false;
    sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  inline static std::atomic<bool> is_held = false;
  struct sigaction before_ {};
};

TEST(Pool, WhoComesLateIsLeftOut) {
#ifdef THRESHER_SANITIZES_THREAD
  GTEST_SKIP() << "the thread sanitizer delivers signals when it likes";
#endif
  Pool pool(2);
  pthread_t worker{};
  pool.run([&](int index) {
    if (index == 1) worker = pthread_self();
  });
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<int> taken(100, 0);
    {
      const HeldThread held(worker);
      alarm(60);  // whoever waits for it, waits for ever
      pool.for_each(100, [&](std::int64_t i, int) { ++taken[static_cast<std::size_t>(i)]; });
      pool.for_each_in_stretches(
          100, [&](std::int64_t i, int) { ++taken[static_cast<std::size_t>(i)]; });
      alarm(0);
    }
    EXPECT_EQ(taken, std::vector<int>(100, 2));
    std::atomic<int> calls{0};
    pool.run([&](int) { ++calls; });  // this waits for all
    EXPECT_EQ(calls, 2);
  }
}

// Runs so short that some workers come late and others do not, between runs that want everybody.
TEST(Pool, RunsOfBothKindsFollowEachOther) {
  Pool pool(4);
  for (int repeat = 0; repeat < 500; ++repeat) {
    std::atomic<int> taken{0};
    pool.for_each(repeat % 7, [&](std::int64_t, int) { ++taken; });
    ASSERT_EQ(taken, repeat % 7);
    if (repeat % 5 != 0) continue;
    int calls[4] = {};
    pool.run([&](int index) { ++calls[index]; });
    for (const int count : calls) ASSERT_EQ(count, 1);
  }
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

// After a sleep too, when a kernel is most inclined to put the worker beside the caller.
TEST(Pool, WorkersLeaveTheCallersCoreFree) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const int core_count = CPU_COUNT(&allowed);
  if (core_count < 2) GTEST_SKIP() << "one core";
  Pool pool(2);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int before = sched_getcpu();
    cpu_set_t of_worker;
    pool.run([&](int index) {
      if (index == 1) sched_getaffinity(0, sizeof of_worker, &of_worker);
    });
    // The caller may have moved between the two looks, so only a call without a move can tell.
    if (sched_getcpu() != before) continue;
    EXPECT_EQ(CPU_COUNT(&of_worker), core_count - 1);
    EXPECT_FALSE(CPU_ISSET(before, &of_worker));
  }
}

TEST(Pool, MoreThreadsThanCoresGoAnywhere) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  Pool pool(CPU_COUNT(&allowed) + 1);
  pool.run([&](int) {
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
    EXPECT_TRUE(CPU_EQUAL(&mine, &allowed));
  });
}

// What a child of fork() finds: 0 if a pool of its parent says what is the matter, and can be
// destroyed, and a pool of its own works. A pool that waits for its threads for ever ends by the
// alarm.
int try_pools_in_child(std::unique_ptr<Pool> of_parent) {
  alarm(20);
  try {
    of_parent->run([](int) {});
    return 1;
  } catch (const Error& error) {
    if (std::string(error.what()).find("before fork()") == std::string::npos) return 2;
  }
  of_parent.reset();
  Pool own(2);
  std::atomic<int> calls{0};
  own.run([&](int) { ++calls; });
  return calls == 2 ? 0 : 3;
}

TEST(Pool, SaysThatAForkLeftItsThreadsBehind) {
#ifdef THRESHER_SANITIZES_THREAD
  GTEST_SKIP() << "the thread sanitizer does not let a child with threads of its own live";
#endif
  auto pool = std::make_unique<Pool>(2);
  // A thread that is still starting may hold a lock of the address sanitizer's, for ever in the
  // child.
  pool->run([](int) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(try_pools_in_child(std::move(pool)));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NO_THROW(pool->run([](int) {}));  // the parent's is as good as ever
}

TEST(Pool, OfOneThreadSurvivesAFork) {
  Pool pool(1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int calls = 0;
    pool.run([&](int) { ++calls; });
    _exit(calls - 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
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
