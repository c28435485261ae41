// SPDX-License-Identifier: Apache-2.0
// Limits of version 2, by the controllers that hold them: skipped where the machine has those in
// version 1. cgroup2_machine.py runs all of it where it has not.
#include "referee/sandbox/cage.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "referee/sandbox/given_group.hpp"
#include "referee/sandbox/sandbox.hpp"

namespace thresher::referee {
namespace {

using namespace testing;
using namespace std::chrono_literals;

// The status of a process that has entered the cage before it does its work.
int status_inside(const Cage& cage, const std::function<int()>& work) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (const std::string& door : cage.doors()) {
      if (!put(door, "0")) _exit(99);
    }
    _exit(work());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

constexpr std::size_t kPieceBytes = 20 << 20;

int take_pages(int sharing) {
  void* const pages =
      mmap(nullptr, kPieceBytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 1;
  std::memset(pages, 1, kPieceBytes);
  return 0;
}

int take_own() { return take_pages(MAP_PRIVATE); }

// What belongs to none of its processes.
int take_shared() { return take_pages(MAP_SHARED); }

int take_file() {
  static const std::vector<char> piece(1 << 20, 1);
  const int file = memfd_create("memory", 0);
  for (std::size_t i = 0; i < kPieceBytes / piece.size(); ++i) {
    if (::write(file, piece.data(), piece.size()) != static_cast<ssize_t>(piece.size())) return 1;
  }
  return 0;
}

std::string memory_has_an_end(const GivenGroup& given) {
  for (int (*take)() : {take_own, take_shared, take_file}) {
    const Cage cage({.memory_bytes = 32 << 20}, {.unified = given.path()});
    if (!cage.limits_memory()) return cage.why_no_memory_limit();
    if (status_inside(cage, take) != 0 || cage.memory_kill_count() != 0) {
      return "one may not have what is granted";
    }
    const int status = status_inside(cage, [&] { return take() + take(); });
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!killed || cage.memory_kill_count() != 1) return "more is granted";
  }
  return "fine";
}

// Two processes of which each takes what one may have.
std::string memory_is_one_for_all(const GivenGroup& given) {
  const Cage cage({.memory_bytes = 32 << 20}, {.unified = given.path()});
  if (!cage.limits_memory()) return cage.why_no_memory_limit();
  std::thread looks([&] {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (cage.memory_kill_count() == 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(10ms);
    }
    cage.kill();
  });
  status_inside(cage, [] {
    fork();
    take_own();
    while (true) pause();
    return 0;
  });
  looks.join();
  return cage.memory_kill_count() > 0 ? "fine" : "each has its own limit";
}

std::string cores_are_bound(const GivenGroup& given) {
  cpu_set_t mine;
  sched_getaffinity(0, sizeof mine, &mine);
  int last = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mine)) last = core;
  }
  const Cage cage({.cores = {last}}, {.unified = given.path()});
  if (!cage.binds_cores()) return cage.why_no_cores();
  const int status = status_inside(cage, [&] {
    cpu_set_t wanted;
    std::memset(&wanted, 0xff, sizeof wanted);
    sched_setaffinity(0, sizeof wanted, &wanted);
    cpu_set_t granted;
    sched_getaffinity(0, sizeof granted, &granted);
    return CPU_COUNT(&granted) == 1 && CPU_ISSET(last, &granted) ? 0 : 1;
  });
  return status == 0 ? "fine" : "it is on other cores";
}

std::string forks_have_an_end(const GivenGroup& given) {
  const Cage cage({.processes = 8}, {.unified = given.path()});
  if (!cage.limits_processes()) return "they are not counted";
  const int status = status_inside(cage, [] {
    for (int i = 0; i < 20; ++i) {
      const pid_t pid = fork();
      if (pid < 0) return i;
      if (pid == 0) {
        while (true) pause();
      }
    }
    return 20;
  });
  cage.kill();
  return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "fine"
                                                       : fmt::format("{} forks", status >> 8);
}

struct Limit {
  const char* controller;
  std::string (*holds)(const GivenGroup& given);
  const char* name;
};

std::ostream& operator<<(std::ostream& stream, const Limit& limit) { return stream << limit.name; }

class LimitsOfVersion2 : public ::testing::TestWithParam<Limit> {
 protected:
  static void expect_held(uid_t user) {
    const GivenGroup given(GetParam().controller);
    REQUIRE_GROUP(given);
    if (user != 0) {
      ASSERT_TRUE(given.give_to(user));
    }
    EXPECT_EQ(said_inside(given, user, [&] { return GetParam().holds(given); }), "fine");
  }
};

TEST_P(LimitsOfVersion2, HoldForRoot) { expect_held(0); }

TEST_P(LimitsOfVersion2, HoldWhereTheGroupWasGivenAway) { expect_held(kUnprivilegedId); }

INSTANTIATE_TEST_SUITE_P(Controllers, LimitsOfVersion2,
                         ::testing::Values(Limit{"memory", memory_has_an_end, "memory"},
                                           Limit{"memory", memory_is_one_for_all, "memory_of_all"},
                                           Limit{"cpuset", cores_are_bound, "cores"},
                                           Limit{"pids", forks_have_an_end, "processes"}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace thresher::referee
