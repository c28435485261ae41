// SPDX-License-Identifier: Apache-2.0
// An arm on a GPU that is none: a driver whose device memory is the referee's own, and contestants
// that are shell scripts. They cannot compute, but everything up to that can be seen.
#include "referee/timing/gpu_arm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "gpu/runtime/fake_driver.hpp"
#include "support/scene.hpp"

namespace thresher::referee {
namespace {

using thresher::testing::make_problem;

// Answers every request with "done", its token and `report`.
std::string obedient(const std::string& report) {
  return "read hello; echo hello 1; while read line; do set -- $line;"
         "case $1 in quit) exit;; release) continue;; esac;"
         "for token; do :; done; if [ $1 = go ]; then echo done $token " +
         report + "; else echo done $token; fi; done";
}

class GpuArmTest : public ::testing::Test {
 protected:
  GpuArm start(const std::string& script, SampleClock clock = SampleClock::kReferee) {
    const Job job{.kind = JobKind::kCommand, .command = {"sh", "-c", script}, .folder = "/"};
    return GpuArm(job, stage_, entries_,
                  {.program = THRESHER_BINARY_DIR "/thresher", .clock = clock}, 7);
  }

  void put_copies() {
    const Inputs base = make_inputs(problem_, InputFamily::kNatural, 1);
    for (int i = 0; i < 2; ++i) {
      Inputs inputs = base;
      turn_rows(problem_, inputs, random_);
      copies_.push_back(stage_.put(problem_, std::move(inputs)));
    }
  }

  gpu::testing::FakeDriver fake_;
  gpu::Device device_{fake_.driver};
  const Problem problem_ = make_problem({3, 0, 5}, 9, 48);
  const std::vector<GpuEntry> entries_{{problem_, {2, 4}}};
  GpuStage stage_{device_, entries_, Room::kForAll};
  Random random_{1};
  std::vector<StagedProblem> copies_;
};

TEST_F(GpuArmTest, WhoWritesNothingIsFound) {
  put_copies();
  GpuArm arm = start(obedient(""));
  ASSERT_FALSE(arm.start());
  for (const StagedProblem& copy : copies_) ASSERT_FALSE(arm.prepare(copy));
  const BatchResult batch = arm.batch(copies_, {.call_count = 4, .inspected_count = 2});
  ASSERT_TRUE(batch.fault);
  EXPECT_EQ(batch.fault->check, check::kPoison) << batch.fault->reason;
  EXPECT_GT(batch.ns, 0);
  ASSERT_EQ(batch.inspected.size(), 2u);
  EXPECT_EQ(batch.inspected[1].copy_index, 1u);  // the fourth call
  EXPECT_FALSE(arm.find_late_write());

  const CallResult call = arm.call(copies_[0], {});
  ASSERT_TRUE(call.fault);
  EXPECT_EQ(call.fault->check, check::kPoison);
}

// Behind the back of the arm: what a kernel that is still running would do.
TEST_F(GpuArmTest, WhoWritesAfterTheAnswerIsFound) {
  put_copies();
  GpuArm arm = start(obedient(""));
  ASSERT_FALSE(arm.start());
  arm.call(copies_[0], {});
  arm.output().fill(std::byte{0});
  const std::optional<Fault> fault = arm.find_late_write();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, check::kLateWrite);
}

TEST_F(GpuArmTest, TheDevicesClockIsHeldAgainstTheReferees) {
  put_copies();
  GpuArm honest = start(obedient("1000 8 0"), SampleClock::kDevice);
  ASSERT_FALSE(honest.start());
  const BatchResult batch = honest.batch(copies_, {.call_count = 4, .inspected_count = 2});
  EXPECT_EQ(batch.ns, 250);
  EXPECT_EQ(batch.report, (BatchReport{1000, 8, 0}));

  GpuArm boaster = start(obedient("3600000000000 8 0"), SampleClock::kDevice);
  ASSERT_FALSE(boaster.start());
  EXPECT_EQ(boaster.batch(copies_, {.call_count = 4, .inspected_count = 2}).fault->check,
            check::kClock);

  GpuArm silent = start(obedient(""), SampleClock::kDevice);
  ASSERT_FALSE(silent.start());
  EXPECT_EQ(silent.batch(copies_, {.call_count = 4, .inspected_count = 2}).fault->check,
            check::kProtocol);
}

TEST_F(GpuArmTest, AsManyCallsAreLookedAtAsWereAskedFor) {
  put_copies();
  GpuArm arm = start(obedient(""));
  ASSERT_FALSE(arm.start());
  EXPECT_EQ(arm.batch(copies_, {.call_count = 4, .inspected_count = 3}).inspected.size(), 3u);
}

// What any contestant on a GPU could widen by threads of its host's.
TEST_F(GpuArmTest, IsBoundToTheCoresItWasGiven) {
  const Job job{.kind = JobKind::kCommand,
                .command = {"sh", "-c",
                            "read hello; echo hello 1; read line; echo error $(grep "
                            "Cpus_allowed_list: /proc/self/status)"},
                .folder = "/"};
  GpuArm arm(job, stage_, entries_, {.program = THRESHER_BINARY_DIR "/thresher", .cores = {0}}, 7);
  const std::optional<Fault> fault = arm.start();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->reason, "said at 'device': Cpus_allowed_list: 0");
}

// A program for a GPU has a host's threads like any other, and is stopped like any other.
TEST_F(GpuArmTest, NothingOfItRunsBetweenItsBatches) {
  for (const std::vector<std::string>& without :
       {std::vector<std::string>{}, {layer::kFreezer, layer::kMemoryOfAll, layer::kBoundCores}}) {
    const Job job{.kind = JobKind::kCommand,
                  .command = {"sh", "-c", "while :; do :; done & " + obedient("")},
                  .folder = "/",
                  .backend = "gpu"};
    GpuArm arm(job, stage_, entries_,
               {.program = THRESHER_BINARY_DIR "/thresher", .confinement = {.without = without}},
               7);
    ASSERT_FALSE(arm.start());
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::optional<Fault> fault = arm.find_late_write();
      EXPECT_FALSE(fault) << fault->reason;
    }
  }
}

TEST_F(GpuArmTest, EveryCallHasItsOwnRegionAndPoison) {
  put_copies();
  GpuArm arm = start(obedient(""));
  ASSERT_FALSE(arm.start());
  // Poison reaches the outputs of all calls by copies on the device, of the two inspected ones
  // again when they are put aside.
  arm.batch(copies_, {.call_count = 4, .inspected_count = 2});
  EXPECT_EQ(fake_.calls_of("cuMemcpyDtoDAsync"), 4 + 2);
}

TEST_F(GpuArmTest, ActivationsAreNewInEveryCallAndKeptForTheOracle) {
  put_copies();
  GpuArm arm = start(obedient(""));
  ASSERT_FALSE(arm.start());
  std::vector<std::vector<std::uint8_t>> seen{copies_[1].inputs.groups[2].a.codes};
  std::set<InputFamily> families;
  for (int i = 0; i < 60; ++i) {
    const BatchResult batch = arm.batch(copies_, {.call_count = 4, .inspected_count = 2});
    ASSERT_EQ(batch.inspected.size(), 2u);
    const InspectedCall& call = batch.inspected[1];
    const std::vector<std::uint8_t>& last = call.activations.groups[2].a.codes;
    families.insert(call.family);
    // The last call has the last activations of its copy, which keeps natural ones.
    const bool kept = last == copies_[1].inputs.groups[2].a.codes;
    EXPECT_EQ(kept, call.family == InputFamily::kNatural);
    EXPECT_NE(copies_[1].inputs.groups[2].a.scales[0], 0x38) << "a scale of 1 is not natural";
    EXPECT_EQ(std::count(seen.begin(), seen.end(), last), 0);
    seen.push_back(last);
  }
  EXPECT_EQ(families.size(), 2u) << "natural ones, and now and then exact ones";
}

TEST_F(GpuArmTest, LateWritesAreFoundAfterLargerAndSmallerOutputs) {
  const Problem larger = make_problem({40, 30}, 9, 48);
  const std::vector<GpuEntry> entries{{problem_, {1, 2}}, {larger, {1, 2}}};
  GpuStage stage(device_, entries, Room::kForAll);
  std::vector<StagedProblem> staged;
  for (const GpuEntry& entry : entries) {
    staged.push_back(
        stage.put(entry.problem, make_inputs(entry.problem, InputFamily::kNatural, 1)));
  }
  const Job job{.kind = JobKind::kCommand, .command = {"sh", "-c", obedient("")}, .folder = "/"};
  GpuArm arm(job, stage, entries, {.program = THRESHER_BINARY_DIR "/thresher"}, 7);
  ASSERT_FALSE(arm.start());
  for (const int index : {0, 1, 0, 1}) {
    EXPECT_EQ(arm.call(staged[static_cast<std::size_t>(index)], {}).fault->check, check::kPoison);
    EXPECT_FALSE(arm.find_late_write());
  }
  arm.output().fill(std::byte{0});
  EXPECT_EQ(arm.find_late_write()->check, check::kLateWrite);
}

TEST_F(GpuArmTest, AContestantMaySayWhyNot) {
  GpuArm arm = start("read hello; echo hello 1; read line; echo error no GPU for me");
  const std::optional<Fault> fault = arm.start();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, check::kError);
  EXPECT_EQ(fault->reason, "said at 'device': no GPU for me");
}

TEST(RecentTimes, ForgetTheFirstOnes) {
  RecentTimes times;
  EXPECT_EQ(times.usual(), 0);
  times.add(1000);
  EXPECT_EQ(times.usual(), 1000);
  times.add(10);
  EXPECT_EQ(times.usual(), 10);
  for (int i = 0; i < 5; ++i) times.add(20);
  EXPECT_EQ(times.usual(), 20);
}

}  // namespace
}  // namespace thresher::referee
