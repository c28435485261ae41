// SPDX-License-Identifier: Apache-2.0
// One program on every device: rows together or apart, calls bound once and queued often, other
// rows, counts that only the device knows. The oracle judges what comes out.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>

#include "nvfp4/error_message.hpp"
#include "support/on_devices.hpp"
#include "support/scene.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using testing::make_problem;
using testing::OnDevice;
using testing::Scene;

constexpr std::uint64_t kCallsSeed = 20260407;

#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
constexpr bool kCallsSanitized = true;
#else
constexpr bool kCallsSanitized = false;
#endif

class CallsTest : public OnDevice {
 protected:
  void enqueue(const Call& call) const {
    call.enqueue();
    engine().synchronize();
  }
};
ON_DEVICES(CallsTest);

TEST_P(CallsTest, RowsOfAllGroupsGiveTheSameBits) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      const Problem problem = make_problem({3, 0, 18, 1}, 40, 80, op, activations);
      Scene apart(engine(), problem, InputFamily::kNatural, kCallsSeed);
      Scene together(engine(), problem, InputFamily::kNatural, kCallsSeed, {.together = true});
      apart.run(engine());
      together.run(engine());
      SCOPED_TRACE(::testing::Message() << to_string(op) << ", " << to_string(activations));
      EXPECT_EQ(apart.why_wrong(), "");
      EXPECT_EQ(together.why_wrong(), "");
      EXPECT_EQ(apart.output_bytes(), together.output_bytes());
    }
  }
}

TEST_P(CallsTest, RowsOfAllGroupsMayLieClose) {
  for (const Output output : {Output::kFp16, Output::kFp32}) {
    const Problem problem = make_problem({3, 0, 5}, 40, 80, Op::kGemm, Activations::kNvfp4, output);
    Scene scene(engine(), problem, InputFamily::kExact, kCallsSeed,
                {.together = true, .stride_padding = 0});
    scene.rows().c_stride_elements = 0;  // means n
    scene.run(engine());
    EXPECT_EQ(scene.why_wrong(), "");
  }
}

TEST_P(CallsTest, AreQueuedAsOftenAsOneLikes) {
  for (const bool together : {false, true}) {
    Scene scene(engine(), make_problem({3, 0, 18}, 40, 80), InputFamily::kExact, kCallsSeed,
                {.together = together});
    const Plan plan = engine().plan(scene.problem());
    const Workspace workspace = engine().workspace(plan);
    const Call call = engine().bind(plan, scene.operands(), workspace);
    for (int repeat = 0; repeat < 2; ++repeat) {
      scene.poison();
      enqueue(call);
      EXPECT_EQ(scene.why_wrong(), "") << "repeat " << repeat;
    }
  }
}

// A call keeps what it was told: the caller's list of groups and handles may go.
TEST_P(CallsTest, NeedNothingOfTheCallerButMemory) {
  Scene scene(engine(), make_problem({3, 2}, 40, 80));
  scene.poison();
  std::optional<Plan> plan = engine().plan(scene.problem());
  Workspace workspace = engine().workspace(*plan);
  std::vector<GroupOperands> groups = scene.groups();
  Call call = engine().bind(*plan, {.groups = groups}, workspace);
  plan.reset();
  groups.assign(2, {});
  const Workspace kept = std::move(workspace);
  Call moved = std::move(call);
  enqueue(moved);
  EXPECT_EQ(scene.why_wrong(), "");
}

// Bound to the rows of one scene, queued for those of another, with a stride of its own.
TEST_P(CallsTest, GoToOtherRows) {
  for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
    const Problem problem = make_problem({3, 0, 18}, 40, 80, Op::kGemm, activations);
    Scene bound(engine(), problem, InputFamily::kExact, kCallsSeed, {.together = true});
    Scene other(engine(), problem, InputFamily::kExact, kCallsSeed + 1,
                {.together = true, .stride_padding = 5});
    const Plan plan = engine().plan(problem);
    const Workspace workspace = engine().workspace(plan);
    const Operands operands{.groups = other.groups(), .rows = bound.rows()};
    const Call call = engine().bind(plan, operands, workspace);
    bound.poison();
    other.poison();
    const std::vector<std::uint8_t> untouched = bound.output_bytes();
    call.enqueue(other.rows());
    engine().synchronize();
    EXPECT_EQ(other.why_wrong(), "");
    EXPECT_EQ(bound.output_bytes(), untouched);
    // And back: the call is bound to the first rows still.
    enqueue(call);
    EXPECT_NE(bound.output_bytes(), untouched);
  }
}

TEST_P(CallsTest, LookAtOtherRows) {
  Scene scene(engine(), make_problem({3, 0, 5}, 40, 80), InputFamily::kExact, kCallsSeed,
              {.together = true});
  const Plan plan = engine().plan(scene.problem());
  const Workspace workspace = engine().workspace(plan);
  const Call call = engine().bind(plan, scene.operands(), workspace);
  scene.poison();
  const std::vector<std::uint8_t> before = scene.output_bytes();
  const auto complaint_of = [&](auto spoil) {
    Rows rows = scene.rows();
    spoil(rows);
    return error_message([&] { call.enqueue(rows); });
  };
  EXPECT_EQ(complaint_of([](Rows& rows) { rows.a = nullptr; }), "a is null");
  EXPECT_EQ(complaint_of([](Rows& rows) { rows.a_scales = nullptr; }), "a_scales is null");
  EXPECT_EQ(complaint_of([](Rows& rows) { rows.c = nullptr; }), "c is null");
  EXPECT_EQ(complaint_of([](Rows& rows) { rows.c_stride_elements = 39; }),
            "c_stride_elements = 39 is not between n = 40 and 137438953472");
  EXPECT_EQ(scene.output_bytes(), before);
}

TEST_P(CallsTest, OfRowsApartGoNowhereElse) {
  Scene scene(engine(), make_problem({3, 2}, 40, 80));
  const Plan plan = engine().plan(scene.problem());
  const Workspace workspace = engine().workspace(plan);
  const Call call = engine().bind(plan, scene.operands(), workspace);
  EXPECT_EQ(error_message([&] { call.enqueue(scene.groups()[0].rows); }),
            "other rows need a call that was bound with rows of all groups");
}

TEST_P(CallsTest, OfNoTokensDoNothing) {
  for (const bool together : {false, true}) {
    Scene scene(engine(), make_problem({0, 0}, 40, 80), InputFamily::kExact, kCallsSeed,
                {.together = together});
    scene.run(engine());
    EXPECT_EQ(scene.why_wrong(), "");
  }
}

// Groups may share inputs, as in a call with one layer of weights.
TEST_P(CallsTest, GroupsMayShareInputs) {
  Scene scene(engine(), make_problem({4, 4}, 64, 80));
  GroupOperands shared = scene.groups()[0];
  shared.rows.c = scene.groups()[1].rows.c;
  scene.groups()[1] = shared;
  scene.run(engine());
  const std::vector<std::uint8_t> bytes = scene.output_bytes();
  const auto half = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2);
  EXPECT_TRUE(std::equal(bytes.begin(), half, half, bytes.end()));
}

// A plan for a limit of tokens and no m of any group serves every distribution of them.
TEST_P(CallsTest, CountsMayStandInDeviceMemory) {
  constexpr std::int64_t kTokensMax = 24;
  const Plan plan = engine().plan(make_problem({0, 0, 0}, 40, 80), {}, kTokensMax);
  EXPECT_EQ(plan.tokens_max(), kTokensMax);
  const Workspace workspace = engine().workspace(plan);
  const std::vector<std::int64_t> distributions[] = {
      {3, 0, 17}, {0, 24, 0}, {0, 0, 0}, {8, 8, 8}, {1, 1, 0}};
  for (const std::vector<std::int64_t>& m : distributions) {
    for (const bool together : {false, true}) {
      Scene scene(engine(), make_problem(m, 40, 80), InputFamily::kExact, kCallsSeed,
                  {.together = together});
      Operands operands = scene.counted_operands();
      // A limit of 0 is the plan's; it may be lower than that.
      for (const std::int64_t tokens_max : {std::int64_t{0}, token_count(scene.problem())}) {
        operands.counts.tokens_max = tokens_max;
        scene.poison();
        engine().run(plan, operands, workspace);
        EXPECT_EQ(scene.why_wrong(), "")
            << ::testing::PrintToString(m) << (together ? " together" : " apart") << " of at most "
            << tokens_max;
      }
    }
  }
}

// What does not fit the limit is not computed, and nothing else is touched.
TEST_P(CallsTest, CountsBeyondTheLimitAreCut) {
  Scene scene(engine(), make_problem({3, 0, 5}, 40, 80));
  scene.run(engine());
  const std::vector<std::uint8_t> all = scene.output_bytes();
  scene.poison();
  const std::vector<std::uint8_t> poison = scene.output_bytes();
  const Plan plan = engine().plan(scene.problem());
  Operands operands = scene.counted_operands();
  operands.counts.tokens_max = 4;
  engine().run(plan, operands, engine().workspace(plan));
  // Three rows of the first group, and one of the last.
  const std::ptrdiff_t written = 4 * 40 * static_cast<std::ptrdiff_t>(sizeof(float));
  std::vector<std::uint8_t> expected(all.begin(), all.begin() + written);
  expected.insert(expected.end(), poison.begin() + written, poison.end());
  EXPECT_EQ(scene.output_bytes(), expected);
  EXPECT_TRUE(scene.guards_intact());
}

// Counts are read when a call is queued, and not when it is bound.
TEST_P(CallsTest, CountsMayChangeBetweenCalls) {
  Scene scene(engine(), make_problem({3, 0, 5}, 40, 80));
  const Plan plan = engine().plan(make_problem({0, 0, 0}, 40, 80), {}, 8);
  const Workspace workspace = engine().workspace(plan);
  testing::DeviceBytes counts(engine(), std::vector<std::uint8_t>(3 * sizeof(std::uint32_t)));
  Operands operands = scene.operands();
  operands.counts.counts = reinterpret_cast<const std::uint32_t*>(counts.data());
  const Call call = engine().bind(plan, operands, workspace);
  scene.poison();
  const std::vector<std::uint8_t> untouched = scene.output_bytes();
  enqueue(call);
  EXPECT_EQ(scene.output_bytes(), untouched);
  counts.write({3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0});
  enqueue(call);
  EXPECT_EQ(scene.why_wrong(), "");
}

TEST_P(CallsTest, PlansTellTheirTokensAndLaunches) {
  const Problem problem = make_problem({3, 5}, 40, 80);
  const Plan plan = engine().plan(problem);
  EXPECT_EQ(plan.tokens_max(), 8);
  EXPECT_EQ(plan.graph_launch_count(), 0);
  EXPECT_EQ(plan.problem().groups, problem.groups);
  if (is_cpu()) {
    EXPECT_EQ(plan.kernel_launch_count(), 0);
    EXPECT_TRUE(plan.kernels().empty());
    EXPECT_TRUE(plan.variant().starts_with("cpu_")) << plan.variant();
    return;
  }
  EXPECT_TRUE(plan.variant().starts_with("gpu_sm90")) << plan.variant();
  // A prologue, and a launch for each group.
  EXPECT_EQ(engine().plan(problem, "gpu_sm90:launches=per_group").kernel_launch_count(), 3);
  EXPECT_EQ(engine().plan(problem, {}, 100).tokens_max(), 100);
  EXPECT_EQ(engine().plan(problem, {}, 3).tokens_max(), 8);
}

TEST_P(CallsTest, BuffersKeepBytes) {
  const Buffer buffer = engine().allocate(100);
  EXPECT_EQ(buffer.bytes(), 100u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
  const std::vector<std::uint8_t> bytes = {1, 2, 3};
  buffer.copy_in(std::as_bytes(std::span(bytes)), 97);
  std::vector<std::uint8_t> back(2);
  buffer.copy_out(std::as_writable_bytes(std::span(back)), 98);
  EXPECT_EQ(back, (std::vector<std::uint8_t>{2, 3}));
  EXPECT_EQ(error_message([&] { buffer.copy_in(std::as_bytes(std::span(bytes)), 98); }),
            "a copy in of 3 bytes at offset 98 does not fit a buffer of 100 bytes");
  EXPECT_EQ(error_message([&] { buffer.copy_out(std::as_writable_bytes(std::span(back)), 101); }),
            "a copy out of 2 bytes at offset 101 does not fit a buffer of 100 bytes");
  const Buffer empty = engine().allocate(0);
  EXPECT_EQ(empty.bytes(), 0u);
  empty.copy_in({});
  empty.copy_out({});
}

TEST_P(CallsTest, ABufferThatNoMemoryHolds) {
  if (kCallsSanitized) GTEST_SKIP() << "the sanitizers' allocators abort instead of returning null";
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX / 2 + 1}) {
    EXPECT_THROW(engine().allocate(bytes), Error) << bytes;  // of a driver, it need not be NoMemory
  }
}

}  // namespace
}  // namespace thresher
