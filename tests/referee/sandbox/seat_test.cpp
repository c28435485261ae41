// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/seat.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "referee/reachable.hpp"
#include "referee/sandbox/cage.hpp"
#include "referee/sandbox/child.hpp"
#include "referee/sandbox/given_group.hpp"
#include "referee/sandbox/group_files.hpp"
#include "referee/sandbox/sandbox.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;
using namespace testing;

// Takes a seat, has a cage with what the controller is for, and leaves.
std::string sit_down_and_leave(const GivenGroup& given) {
  const std::string why_not = enable_controller(given.path(), given.controller());
  if (!why_not.empty()) return why_not;
  const fs::path seat = given.path() / fmt::format("thresher-seat-{}", getpid());
  if (find_cage_roots().unified != given.path()) return "cages would be made elsewhere";
  {
    const Cage cage({}, {.unified = given.path()});
    if (!cage.can_freeze()) return cage.why_no_freezer();
    const fs::path folder = fs::path(cage.doors().at(0)).parent_path();
    if (text_of(folder / "cgroup.controllers").find(given.controller()) == std::string::npos) {
      return "the cage has no such controller";
    }
  }
  if (!leave_seat(seat)) return "the seat is left";
  return fs::exists(seat) ? "the seat is there" : "fine";
}

TEST(Seat, LetsControllersWorkBelowTheRefereesOwnGroup) {
  const GivenGroup given;
  REQUIRE_GROUP(given);
  EXPECT_EQ(said_inside(given, 0, [&] { return sit_down_and_leave(given); }), "fine");
}

TEST(Seat, NeedsNoRootWhereTheGroupWasGivenAway) {
  const GivenGroup given;
  REQUIRE_GROUP(given);
  ASSERT_TRUE(given.give_to(kUnprivilegedId));
  EXPECT_EQ(said_inside(given, kUnprivilegedId, [&] { return sit_down_and_leave(given); }), "fine");
}

TEST(Seat, LeavesOthersWhereTheyAre) {
  const GivenGroup given;
  REQUIRE_GROUP(given);
  const pid_t other = fork();
  if (other == 0) {
    while (true) pause();
  }
  ASSERT_TRUE(put(given.path() / "cgroup.procs", std::to_string(other)));
  const std::string why_not =
      said_inside(given, 0, [&] { return enable_controller(given.path(), given.controller()); });
  EXPECT_TRUE(why_not.starts_with("other processes live in ")) << why_not;
  EXPECT_NE(why_not.find("systemd-run"), std::string::npos) << why_not;
  EXPECT_EQ(text_of(given.path() / "cgroup.procs"), std::to_string(other) + "\n");
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

// Where a group was given to the operator, its files are those of the user that contestants are.
TEST(Seat, GroupsAreOutOfReachOfWhoIsInThem) {
  const GivenGroup given;
  REQUIRE_GROUP(given);
  const fs::path program = testing::reachable_program();
  ASSERT_TRUE(given.give_to(kUnprivilegedId));
  const std::string script = fmt::format(
      "group={}$(sed -n s/^0:://p /proc/self/cgroup); for file in cgroup.freeze cgroup.procs; do "
      "(echo 0 >$group/$file) 2>/dev/null && echo free; done; (echo 0 >{}/cgroup.procs) "
      "2>/dev/null && echo free; echo held in ${{group##*/}}",
      given.path().parent_path().string(), given.path().string());
  const std::string line = said_inside(given, kUnprivilegedId, [&]() -> std::string {
    const ScratchFolder scratch(FolderOwner::kContestant);
    Child child(
        {.program = program,
         .order = {
             .job = {.kind = JobKind::kCommand, .command = {"sh", "-c", script}, .folder = "/"},
             .scratch = scratch.path()}});
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    if (!child.wait_until_started(deadline)) return child.describe_end();
    return child.await_line(deadline).line;
  });
  EXPECT_TRUE(line.starts_with("held in thresher-cage-")) << line;
}

TEST(Seat, SaysWhichControllerIsMissing) {
  const GivenGroup given;
  REQUIRE_GROUP(given);
  EXPECT_EQ(enable_controller(given.path(), "no-such-thing"),
            fmt::format("{} has no controller 'no-such-thing'", given.path().string()));
}

TEST(Seat, IsNotWhereCagesAreMade) {
  EXPECT_EQ(group_around_seat("/groups/mine/thresher-seat-12"), "/groups/mine");
  EXPECT_EQ(group_around_seat("/groups/mine"), "/groups/mine");
  EXPECT_EQ(group_around_seat(""), "");
}

}  // namespace
}  // namespace thresher::referee
