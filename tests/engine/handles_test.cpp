// SPDX-License-Identifier: Apache-2.0
// Handles of every device: what they say of themselves, and a clear Error from those that were
// moved from.
#include <gtest/gtest.h>

#include <utility>

#include "nvfp4/error_message.hpp"
#include "support/on_devices.hpp"
#include "support/scene.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using testing::make_problem;
using testing::OnDevice;
using testing::Scene;

class HandlesTest : public OnDevice {};
ON_DEVICES(HandlesTest);

TEST_P(HandlesTest, OfTheEngineSayWhatItIs) {
  EXPECT_TRUE(engine().device().starts_with(GetParam())) << engine().device();
  EXPECT_NE(engine().description(), "");
  EXPECT_EQ(engine().thread_count(), is_cpu() ? 2 : options().device == "emulator" ? 1 : 0);
  EXPECT_FALSE(engine().variants().empty());
}

TEST_P(HandlesTest, OfAnEngineThatWasMovedFrom) {
  Engine engine(options());
  const Scene scene(engine, make_problem({3}, 17, 64));
  const Plan plan = engine.plan(scene.problem());
  const Workspace workspace = engine.workspace(plan);
  const Weights weights = *scene.operands().groups[0].weights;
  const Engine other = std::move(engine);
  const std::string expected = "this engine was moved from";
  const Nvfp4View b = scene.inputs().groups[0].b.view();
  EXPECT_EQ(error_message([&] { engine.device(); }), expected);
  EXPECT_EQ(error_message([&] { engine.description(); }), expected);
  EXPECT_EQ(error_message([&] { engine.thread_count(); }), expected);
  EXPECT_EQ(error_message([&] { engine.allocate(1); }), expected);
  EXPECT_EQ(error_message([&] { engine.synchronize(); }), expected);
  EXPECT_EQ(error_message([&] { engine.pack({.b = b}); }), expected);
  EXPECT_EQ(error_message([&] { engine.duplicate(weights); }), expected);
  EXPECT_EQ(error_message([&] { engine.variants(); }), expected);
  EXPECT_EQ(error_message([&] { engine.supports(scene.problem(), ""); }), expected);
  EXPECT_EQ(error_message([&] { engine.plan(scene.problem()); }), expected);
  EXPECT_EQ(error_message([&] { engine.workspace(plan); }), expected);
  EXPECT_EQ(error_message([&] { engine.check(plan, scene.operands()); }), expected);
  EXPECT_EQ(error_message([&] { engine.run(plan, scene.operands(), workspace); }), expected);
  EXPECT_EQ(error_message([&] { engine.bind(plan, scene.operands(), workspace); }), expected);
  EXPECT_EQ(error_message([&] { other.run(plan, scene.operands(), workspace); }), "no error");
}

TEST_P(HandlesTest, OfABufferThatWasMovedFrom) {
  Buffer buffer = engine().allocate(8);
  const Buffer other = std::move(buffer);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.bytes(), 0u);
  EXPECT_EQ(error_message([&] { buffer.copy_in({}); }), "this buffer was moved from");
  EXPECT_EQ(error_message([&] { buffer.copy_out({}); }), "this buffer was moved from");
  EXPECT_EQ(other.bytes(), 8u);
}

TEST_P(HandlesTest, OfACallThatWasMovedFrom) {
  Scene scene(engine(), make_problem({3}, 17, 64), InputFamily::kExact, 1, {.together = true});
  const Plan plan = engine().plan(scene.problem());
  const Workspace workspace = engine().workspace(plan);
  Call call = engine().bind(plan, scene.operands(), workspace);
  Call other = std::move(call);
  EXPECT_EQ(error_message([&] { call.enqueue(); }), "this call was moved from");
  EXPECT_EQ(error_message([&] { call.enqueue(scene.rows()); }), "this call was moved from");
  call = std::move(other);
  scene.poison();
  call.enqueue();
  engine().synchronize();
  EXPECT_EQ(scene.why_wrong(), "");
}

// Also where the plan needs no scratch at all.
TEST_P(HandlesTest, OfAWorkspaceThatWasMovedFrom) {
  for (const std::int64_t m : {3, 0}) {
    Scene scene(engine(), make_problem({m}, 17, 64));
    const Plan plan = engine().plan(scene.problem());
    Workspace workspace = engine().workspace(plan);
    const Workspace other = std::move(workspace);
    const Operands operands = scene.operands();
    const std::string expected = "this workspace was moved from";
    EXPECT_EQ(workspace.bytes(), 0u);
    EXPECT_EQ(error_message([&] { engine().run(plan, operands, workspace); }), expected);
    EXPECT_EQ(error_message([&] { engine().bind(plan, operands, workspace); }), expected);
    EXPECT_EQ(error_message([&] { engine().run(plan, operands, other); }), "no error");
  }
}

}  // namespace
}  // namespace thresher
