// SPDX-License-Identifier: Apache-2.0
// What check(), run() and bind() say about operands that do not fit, on every device, and that they
// then write nothing.
#include "engine/operands.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
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
using testing::SceneLayout;

constexpr std::uint64_t kOperandsSeed = 20260405;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A problem with its operands, to be spoilt one by one.
class Prepared {
 public:
  Prepared(const Engine& engine, const Problem& problem, SceneLayout layout = {})
      : engine_(engine),
        scene_(engine, problem, InputFamily::kNatural, kOperandsSeed, layout),
        plan_(engine.plan(problem)) {}

  GroupOperands& operator[](std::size_t group) { return scene_.groups()[group]; }
  Scene& scene() { return scene_; }
  const Plan& plan() const { return plan_; }

  std::string complaint_of_check(const Operands& operands) const {
    return error_message([&] { engine_.check(plan_, operands); });
  }
  std::string complaint_of_check() const { return complaint_of_check(scene_.operands()); }

  std::string complaint_of_run(const Workspace& workspace, const Operands& operands) {
    scene_.poison();
    const std::vector<std::uint8_t> before = scene_.output_bytes();
    const std::string message = error_message([&] { engine_.run(plan_, operands, workspace); });
    if (message != "no error") {
      EXPECT_EQ(scene_.output_bytes(), before) << "written in spite of: " << message;
    }
    EXPECT_TRUE(scene_.guards_intact());
    return message;
  }
  std::string complaint_of_run(const Workspace& workspace) {
    return complaint_of_run(workspace, scene_.operands());
  }

  // What all say.
  std::string complaint(const Operands& operands) {
    const Workspace workspace = engine_.workspace(plan_);
    const std::string message = complaint_of_run(workspace, operands);
    EXPECT_EQ(complaint_of_check(operands), message);
    EXPECT_EQ(error_message([&] { engine_.bind(plan_, operands, workspace); }), message);
    return message;
  }
  std::string complaint() { return complaint(scene_.operands()); }

 private:
  const Engine& engine_;
  Scene scene_;
  const Plan plan_;
};

const void* moved(const void* address, std::ptrdiff_t bytes) {
  return static_cast<const std::uint8_t*>(address) + bytes;
}
void* moved(void* address, std::ptrdiff_t bytes) {
  return static_cast<std::uint8_t*>(address) + bytes;
}

class OperandsTest : public OnDevice {
 protected:
  Prepared prepared(const Problem& problem, SceneLayout layout = {}) const {
    return {engine(), problem, layout};
  }
  Prepared gemm() const { return prepared(make_problem({3, 0, 5}, 33, 64)); }
  Prepared dual() const { return prepared(make_problem({3, 0, 5}, 33, 64, Op::kDual)); }
  Prepared together() const {
    return prepared(make_problem({3, 0, 5}, 33, 64), {.together = true});
  }
};
ON_DEVICES(OperandsTest);

TEST_P(OperandsTest, ThatFit) {
  EXPECT_EQ(gemm().complaint(), "no error");
  EXPECT_EQ(dual().complaint(), "no error");
  EXPECT_EQ(together().complaint(), "no error");
}

TEST_P(OperandsTest, OfAnEmptyGroupAreNotLookedAt) {
  Prepared call = gemm();
  call[1] = {.alpha = NAN, .rows = {.c_stride_elements = -1}};
  EXPECT_EQ(call.complaint(), "no error");
  Prepared rows = together();
  rows[1] = {.alpha = NAN};
  EXPECT_EQ(rows.complaint(), "no error");
  EXPECT_EQ(rows.scene().why_wrong(), "");
}

TEST_P(OperandsTest, OfTooFewGroups) {
  Prepared call = gemm();
  call.scene().groups().pop_back();
  EXPECT_EQ(call.complaint(), "2 groups of operands for a plan with 3 groups");
}

TEST_P(OperandsTest, WithoutWeights) {
  Prepared call = gemm();
  call[2].weights = nullptr;
  EXPECT_EQ(call.complaint(), "group 2: weights is null");
  Prepared rows = together();
  rows[0].weights = nullptr;
  EXPECT_EQ(rows.complaint(), "group 0: weights is null");
}

TEST_P(OperandsTest, WithWeightsForTheOtherOp) {
  Prepared single = gemm();
  Prepared gated = dual();
  std::swap(single[0].weights, gated[2].weights);
  EXPECT_EQ(single.complaint(), "group 0: weights were packed for dual but the problem is gemm");
  EXPECT_EQ(gated.complaint(), "group 2: weights were packed for gemm but the problem is dual");
}

TEST_P(OperandsTest, WithWeightsOfAnotherShape) {
  Prepared call = gemm();
  Prepared wider = prepared(make_problem({3}, 34, 64));
  Prepared longer = prepared(make_problem({3}, 33, 80));
  call[0].weights = wider[0].weights;
  EXPECT_EQ(call.complaint(),
            "group 0: weights are n = 34, k = 64 but the plan has n = 33, k = 64");
  call[0].weights = longer[0].weights;
  EXPECT_EQ(call.complaint(),
            "group 0: weights are n = 33, k = 80 but the plan has n = 33, k = 64");
}

// On the CPU one copy serves all activations.
TEST_P(OperandsTest, WithWeightsForOtherActivations) {
  Prepared nvfp4 = prepared(make_problem({3}, 33, 64));
  Prepared fp16 = prepared(make_problem({3}, 33, 64, Op::kGemm, Activations::kFp16));
  Prepared bf16 = prepared(make_problem({3}, 33, 64, Op::kGemm, Activations::kBf16));
  const Weights* for_nvfp4 = nvfp4[0].weights;
  nvfp4[0].weights = bf16[0].weights;
  bf16[0].weights = fp16[0].weights;
  fp16[0].weights = for_nvfp4;
  EXPECT_EQ(fp16.complaint(), "no error");
  const std::string advice = ": say so when you pack them";
  EXPECT_EQ(nvfp4.complaint(),
            is_cpu() ? "no error"
                     : "group 0: weights were packed for bf16 activations but the problem has "
                       "nvfp4" +
                           advice);
  EXPECT_EQ(bf16.complaint(),
            is_cpu() ? "no error"
                     : "group 0: weights were packed for nvfp4 or fp16 activations but the problem "
                       "has bf16" +
                           advice);
}

TEST_P(OperandsTest, WithWeightsOfAnotherDevice) {
  const Engine other = other_device();
  Prepared call = gemm();
  Scene elsewhere(other, call.scene().problem());
  call[2].weights = elsewhere.groups()[2].weights;
  EXPECT_EQ(call.complaint(), "group 2: weights were packed on device '" + other.device() +
                                  "' but this engine's is '" + engine().device() + "'");
}

TEST_P(OperandsTest, WithoutActivations) {
  Prepared call = gemm();
  call[2].rows.a_scales = nullptr;
  EXPECT_EQ(call.complaint(), "group 2: a_scales is null");
  call[2].rows.a = nullptr;
  EXPECT_EQ(call.complaint(), "group 2: a is null");

  Prepared half = prepared(make_problem({3}, 33, 64, Op::kGemm, Activations::kFp16));
  half[0].rows.a_scales = nullptr;  // which they have none of
  EXPECT_EQ(half.complaint(), "no error");
  half[0].rows.a = nullptr;
  EXPECT_EQ(half.complaint(), "group 0: a is null");
}

TEST_P(OperandsTest, WithMisalignedActivations) {
  Prepared half = prepared(make_problem({3}, 33, 64, Op::kGemm, Activations::kBf16));
  const Rows rows = half[0].rows;
  const std::string alignment = is_cpu() ? "2" : "16";
  half[0].rows.a = moved(rows.a, 1);
  EXPECT_EQ(half.complaint(), "group 0: a is not aligned to " + alignment + " bytes");
  half[0].rows.a = moved(rows.a, 8);
  EXPECT_EQ(half.complaint_of_check(),
            is_cpu() ? "no error" : "group 0: a is not aligned to 16 bytes");

  Prepared nvfp4 = gemm();
  nvfp4[2].rows.a = moved(nvfp4[2].rows.a, 4);
  nvfp4[2].rows.a_scales = moved(nvfp4[2].rows.a_scales, 1);  // bytes are always aligned
  EXPECT_EQ(nvfp4.complaint_of_check(),
            is_cpu() ? "no error" : "group 2: a is not aligned to 8 bytes");
}

TEST_P(OperandsTest, WithFactorsThatAreNotFinite) {
  Prepared call = dual();
  call[0].a_global_scale = NAN;
  EXPECT_EQ(call.complaint(), "group 0: a_global_scale = nan is not finite");
  call[0].a_global_scale = 1.0f;
  call[0].alpha_up = -kInfinity;
  EXPECT_EQ(call.complaint(), "group 0: alpha_up = -inf is not finite");
  call[0].alpha = NAN;
  EXPECT_EQ(call.complaint(), "group 0: alpha = nan is not finite");
}

TEST_P(OperandsTest, WithFactorsBeyondTheLimit) {
  Prepared call = prepared(make_problem({3}, 33, 64, Op::kDual, Activations::kBf16));
  const GroupInputs& inputs = call.scene().inputs().groups[0];
  call[0].alpha_up = 0x1.8p96f / inputs.b_up.global_scale;
  EXPECT_EQ(call.complaint(),
            "group 0: alpha_up times the global scales = 1.19e+29 is beyond 2^96");
  call[0].alpha_up = 0x1p95f / inputs.b_up.global_scale;
  EXPECT_EQ(call.complaint(), "no error");
  call[0].alpha = -0x1.8p96f / inputs.b.global_scale;
  EXPECT_EQ(call.complaint(), "group 0: alpha times the global scales = -1.19e+29 is beyond 2^96");
}

TEST_P(OperandsTest, OfGemmHaveNoAlphaUp) {
  Prepared call = gemm();
  call[0].alpha_up = NAN;
  EXPECT_EQ(call.complaint(), "no error");
}

TEST_P(OperandsTest, Of16BitsHaveNoGlobalScale) {
  Prepared call = prepared(make_problem({3}, 33, 64, Op::kGemm, Activations::kFp16));
  call[0].a_global_scale = NAN;
  EXPECT_EQ(call.complaint(), "no error");
  EXPECT_EQ(call.scene().why_wrong(), "");
}

TEST_P(OperandsTest, WithoutOutput) {
  Prepared call = gemm();
  call[2].rows.c = nullptr;
  EXPECT_EQ(call.complaint(), "group 2: c is null");
}

TEST_P(OperandsTest, WithMisalignedOutput) {
  for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
    Prepared call = prepared(make_problem({3}, 33, 64, Op::kGemm, Activations::kNvfp4, output));
    call[0].rows.c = moved(call[0].rows.c, 1);
    EXPECT_EQ(call.complaint(), "group 0: c is not aligned to " +
                                    std::to_string(bytes_per_element(output)) + " bytes");
  }
}

TEST_P(OperandsTest, WithAStrideOutOfRange) {
  Prepared call = gemm();
  Prepared rows = together();
  for (const std::int64_t stride : {std::int64_t{32}, std::int64_t{-33}, std::int64_t{1} << 60}) {
    const std::string text = "c_stride_elements = " + std::to_string(stride);
    call[2].rows.c_stride_elements = stride;
    EXPECT_EQ(call.complaint(), "group 2: " + text + " is not between n = 33 and 219902325555");
    rows.scene().rows().c_stride_elements = stride;  // of 8 rows in all
    EXPECT_EQ(rows.complaint(), text + " is not between n = 33 and 137438953472");
  }
  call[2].rows.c_stride_elements = 0;  // means n
  EXPECT_EQ(call.complaint_of_check(), "no error");
}

TEST_P(OperandsTest, WithRowsOfAllGroupsThatAreNotWhole) {
  Prepared call = together();
  const Rows rows = call.scene().rows();
  call.scene().rows().a_scales = nullptr;
  EXPECT_EQ(call.complaint(), "a_scales is null");
  call.scene().rows().a = nullptr;
  EXPECT_EQ(call.complaint(), "a is null");
  call.scene().rows() = {.a = rows.a, .a_scales = rows.a_scales};
  EXPECT_EQ(call.complaint(), "c is null");
  call.scene().rows() = rows;
  call.scene().rows().c = moved(rows.c, 2);
  EXPECT_EQ(call.complaint(), "c is not aligned to 4 bytes");
  call.scene().rows() = {};
  EXPECT_EQ(call.complaint(), "group 0: a is null");
}

TEST_P(OperandsTest, WithRowsOfAllGroupsThatDiffer) {
  Problem problem = make_problem({3, 2}, 33, 64);
  problem.groups[1].n = 34;
  Prepared wider = prepared(problem);
  wider.scene().rows() = wider[0].rows;
  EXPECT_EQ(wider.complaint(),
            "group 1: rows of all groups together need one n and k: n = 34, k = 64 and not n = 33, "
            "k = 64");
  problem.groups[1] = {.m = 0, .n = 33, .k = 80};
  Prepared longer = prepared(problem);
  longer.scene().rows() = longer[0].rows;
  EXPECT_EQ(longer.complaint(),
            "group 1: rows of all groups together need one n and k: n = 33, k = 80 and not n = 33, "
            "k = 64");
}

TEST_P(OperandsTest, WithCountsInDeviceMemory) {
  Prepared call = gemm();
  Operands operands = call.scene().counted_operands();
  EXPECT_EQ(call.complaint(operands), "no error");
  for (const std::int64_t tokens_max : {-1, 9}) {
    operands.counts.tokens_max = tokens_max;
    EXPECT_EQ(call.complaint(operands),
              "tokens_max = " + std::to_string(tokens_max) +
                  " is not between 0 and the 8 that the plan was made for");
  }
  // Any group may have tokens now.
  operands.counts.tokens_max = 8;
  call[1].weights = nullptr;
  EXPECT_EQ(call.complaint(operands), "group 1: weights is null");
}

TEST_P(OperandsTest, WithAWorkspaceTooSmall) {
  Prepared call = prepared(make_problem({40}, 33, 640));
  const Workspace small = engine().workspace(engine().plan(make_problem({1}, 33, 64)));
  ASSERT_LT(small.bytes(), call.plan().workspace_bytes());
  const std::string expected = "the workspace has " + std::to_string(small.bytes()) +
                               " bytes, the plan needs " +
                               std::to_string(call.plan().workspace_bytes());
  EXPECT_EQ(call.complaint_of_run(small), expected);
  EXPECT_EQ(error_message([&] { engine().bind(call.plan(), call.scene().operands(), small); }),
            expected);
}

TEST_P(OperandsTest, WithAPlanOfAnotherDevice) {
  const Engine other = other_device();
  Prepared call = gemm();
  const Plan plan = other.plan(call.scene().problem());
  const Workspace workspace = engine().workspace(plan);
  const std::string expected = "the plan was made for device '" + other.device() +
                               "', this engine's is '" + engine().device() + "'";
  const Operands operands = call.scene().operands();
  EXPECT_EQ(error_message([&] { engine().check(plan, operands); }), expected);
  EXPECT_EQ(error_message([&] { engine().run(plan, operands, workspace); }), expected);
  EXPECT_EQ(error_message([&] { engine().bind(plan, operands, workspace); }), expected);
}

TEST(CpuOperands, WithAPlanForAnotherThreadCount) {
  const Engine engine({.thread_count = 2});
  Prepared call(engine, make_problem({3, 0, 5}, 33, 64));
  const Engine other({.thread_count = 3});
  const Workspace workspace = engine.workspace(call.plan());
  const Operands operands = call.scene().operands();
  const std::string expected = "the plan was made for 2 threads, this engine has 3";
  EXPECT_EQ(error_message([&] { other.check(call.plan(), operands); }), expected);
  EXPECT_EQ(error_message([&] { other.run(call.plan(), operands, workspace); }), expected);
  EXPECT_EQ(error_message([&] { other.bind(call.plan(), operands, workspace); }), expected);
  const Engine same({.thread_count = 2});
  EXPECT_EQ(error_message([&] { same.run(call.plan(), operands, workspace); }), "no error");
}

// check() does not read the activations; run() does, in every variant, and before it writes.
TEST(CpuOperands, WithANanScale) {
  const Engine engine({.thread_count = 2});
  const Problem problem = make_problem({3, 0, 45}, 33, 80);
  for (const std::string& variant : engine.variants()) {
    if (!engine.supports(problem, variant).ok) continue;
    Scene scene(engine, problem, InputFamily::kNatural, kOperandsSeed);
    std::vector<std::uint8_t> scales = scene.inputs().groups[2].a.scales;
    scales[44 * 5 + 4] = 0xff;  // the last one: the tail of k in the last row
    scene.groups()[2].rows.a_scales = scales.data();
    EXPECT_EQ(error_message([&] { scene.run(engine, variant); }),
              "group 2: the scale of row 44, block 4 of the activations is NaN")
        << variant;
    const std::vector<std::uint8_t> outputs = scene.output_bytes();
    scene.poison();
    EXPECT_EQ(outputs, scene.output_bytes()) << variant << " wrote before it looked";
    scales[17 * 5 + 1] = 0x7f;
    EXPECT_EQ(error_message([&] { scene.run(engine, variant); }),
              "group 2: the scale of row 17, block 1 of the activations is NaN")
        << variant;
  }
}

// Buffers of one call laid out by hand in one block of memory.
class Overlap : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    memory_.emplace(engine(), std::vector<std::uint8_t>(4096));
    call_.emplace(engine(), make_problem({4, 4}, kColumns, 64));
    for (std::size_t group : {0, 1}) rows(group).c = moved(memory_->data(), 4 * kRowBytes * group);
    rows(0).c_stride_elements = rows(1).c_stride_elements = 0;
  }

  std::string complaint() const { return call_->complaint_of_check(); }
  Rows& rows(std::size_t group) { return (*call_)[group].rows; }
  Prepared& call() { return *call_; }
  void* memory() const { return memory_->data(); }

  static constexpr std::int64_t kColumns = 16;
  static constexpr std::int64_t kRowBytes = kColumns * sizeof(float);

 private:
  std::optional<testing::DeviceBytes> memory_;
  std::optional<Prepared> call_;
};
ON_DEVICES(Overlap);

TEST_P(Overlap, TouchingIsFine) { EXPECT_EQ(complaint(), "no error"); }

TEST_P(Overlap, OfTwoOutputs) {
  rows(1).c = moved(rows(1).c, -4);
  EXPECT_EQ(complaint(), "c of group 0 overlaps c of group 1");
  rows(1).c = rows(0).c;
  EXPECT_NE(complaint(), "no error");
}

TEST_P(Overlap, OfAnOutputInsideAnother) {
  rows(0).c_stride_elements = 100;
  rows(1).c = moved(rows(0).c, 4 * (300 - 64));
  EXPECT_EQ(complaint(), "c of group 0 overlaps c of group 1");
  rows(1).c = moved(rows(0).c, 4 * (300 + kColumns));
  EXPECT_EQ(complaint(), "no error");
}

TEST_P(Overlap, OfAnOutputWithActivations) {
  rows(0).a = moved(memory(), 2 * 4 * kRowBytes - 8);
  EXPECT_EQ(complaint(), "c of group 1 overlaps a of group 0");
  rows(0).a = moved(memory(), 2 * 4 * kRowBytes);
  EXPECT_EQ(complaint(), "no error");
  rows(1).a_scales = memory();
  EXPECT_NE(complaint().find("a_scales of group 1"), std::string::npos) << complaint();
}

// 4 x 64 values lie before C, and their last 16 bytes in it.
TEST_P(Overlap, OfAnOutputWith16BitActivations) {
  Prepared half(engine(), make_problem({4}, kColumns, 64, Op::kGemm, Activations::kBf16));
  half[0].rows.c = moved(memory(), 1024);
  half[0].rows.a = moved(half[0].rows.c, -4 * 64 * 2 + 16);
  EXPECT_EQ(half.complaint_of_check(), "a of group 0 overlaps c of group 0");
}

// A small input lies in a large one, and an output behind it: the search must remember the large
// one.
TEST_P(Overlap, OfAnOutputWithTheFarEndOfWeights) {
  const backend::Weights& weights = call()[0].weights->state();
  rows(0).a = moved(weights.data(), 64);
  rows(1).c =
      const_cast<void*>(moved(weights.data(), static_cast<std::ptrdiff_t>(weights.bytes()) - 4));
  EXPECT_EQ(complaint(), "weights of group 0 overlaps c of group 1");
}

TEST_P(Overlap, OfInputsIsFine) {
  rows(1).a = rows(0).a;
  rows(1).a_scales = rows(0).a_scales;
  call()[1].weights = call()[0].weights;
  EXPECT_EQ(call().complaint(), "no error");
}

// Rows of all groups are one buffer: from the first row of the first group to the last of the last.
TEST_P(Overlap, OfRowsOfAllGroups) {
  Prepared together(engine(), make_problem({4, 4}, kColumns, 64), {.together = true});
  together.scene().rows().c = memory();
  together.scene().rows().c_stride_elements = 0;
  together.scene().rows().a = moved(memory(), 2 * 4 * kRowBytes);
  EXPECT_EQ(together.complaint_of_check(), "no error");
  together.scene().rows().a = moved(memory(), 2 * 4 * kRowBytes - 16);
  EXPECT_EQ(together.complaint_of_check(), "c overlaps a");
  if (is_cpu()) return;
  // As many rows as all groups may have.
  Operands counted = together.scene().counted_operands();
  counted.counts.tokens_max = 7;
  EXPECT_EQ(together.complaint_of_check(counted), "no error");
}

}  // namespace
}  // namespace thresher
