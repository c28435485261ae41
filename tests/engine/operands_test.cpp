// SPDX-License-Identifier: Apache-2.0
// What check() and run() say about operands that do not fit, and that they then write nothing.
#include "engine/operands.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "engine/state.hpp"
#include "nvfp4/error_message.hpp"
#include "support/scene.hpp"
#include "thresher/engine.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using testing::make_problem;
using testing::Scene;

constexpr std::uint64_t kSeed = 20260405;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A problem with its operands, to be spoilt one by one.
class Call {
 public:
  explicit Call(Problem problem)
      : scene_(engine_, problem, InputFamily::kNatural, kSeed), plan_(engine_.plan(problem)) {}

  GroupOperands& operator[](std::size_t group) { return scene_.operands()[group]; }
  Scene& scene() { return scene_; }
  const Engine& engine() const { return engine_; }
  const Plan& plan() const { return plan_; }

  std::string complaint_of_check() {
    return error_message([&] { engine_.check(plan_, scene_.operands()); });
  }

  std::string complaint_of_run(Workspace& workspace) {
    scene_.poison();
    const std::vector<std::uint8_t> before = scene_.output_bytes();
    const std::string message =
        error_message([&] { engine_.run(plan_, scene_.operands(), workspace); });
    if (message != "no error") {
      EXPECT_EQ(scene_.output_bytes(), before) << "written in spite of: " << message;
    }
    EXPECT_TRUE(scene_.guards_intact());
    return message;
  }

  // What both say.
  std::string complaint() {
    Workspace workspace(plan_);
    const std::string message = complaint_of_run(workspace);
    EXPECT_EQ(complaint_of_check(), message);
    return message;
  }

 private:
  const Engine engine_ = Engine({.thread_count = 2});
  Scene scene_;
  const Plan plan_;
};

Problem gemm() { return make_problem({3, 0, 5}, 33, 64); }
Problem dual() { return make_problem({3, 0, 5}, 33, 64, Op::kDual); }

TEST(Operands, ThatFit) {
  EXPECT_EQ(Call(gemm()).complaint(), "no error");
  EXPECT_EQ(Call(dual()).complaint(), "no error");
}

TEST(Operands, OfAnEmptyGroupAreNotLookedAt) {
  Call call(gemm());
  call[1] = {.c_stride_elements = -1, .alpha = NAN};
  EXPECT_EQ(call.complaint(), "no error");
}

TEST(Operands, OfTooFewGroups) {
  Call call(gemm());
  call.scene().operands().pop_back();
  EXPECT_EQ(call.complaint(), "2 groups of operands for a plan with 3 groups");
}

TEST(Operands, WithoutWeights) {
  Call call(gemm());
  call[2].weights = nullptr;
  EXPECT_EQ(call.complaint(), "group 2: weights is null");
}

TEST(Operands, WithWeightsForTheOtherOp) {
  Call single(gemm());
  Call gated(dual());
  std::swap(single[0].weights, gated[2].weights);
  EXPECT_EQ(single.complaint(), "group 0: weights were packed for dual but the problem is gemm");
  EXPECT_EQ(gated.complaint(), "group 2: weights were packed for gemm but the problem is dual");
}

TEST(Operands, WithWeightsOfAnotherShape) {
  Call call(gemm());
  Call wider(make_problem({3}, 34, 64));
  Call longer(make_problem({3}, 33, 80));
  call[0].weights = wider[0].weights;
  EXPECT_EQ(call.complaint(),
            "group 0: weights are n = 34, k = 64 but the plan has n = 33, k = 64");
  call[0].weights = longer[0].weights;
  EXPECT_EQ(call.complaint(),
            "group 0: weights are n = 33, k = 80 but the plan has n = 33, k = 64");
}

TEST(Operands, WithoutActivations) {
  Call call(gemm());
  call[2].a.scales = nullptr;
  EXPECT_EQ(call.complaint(), "group 2: a.scales is null");
  call[2].a.codes = nullptr;
  EXPECT_EQ(call.complaint(), "group 2: a.codes is null");

  Call half(make_problem({3}, 33, 64, Op::kGemm, Activations::kFp16));
  half[0].a16 = nullptr;
  EXPECT_EQ(half.complaint(), "group 0: a16 is null but the problem has fp16 activations");
}

TEST(Operands, WithActivationsOfAnotherShape) {
  Call call(gemm());
  call[2].a.rows = 4;
  EXPECT_EQ(call.complaint(), "group 2: a is 4 x 64 but the plan has m = 5, k = 64");
  call[2].a.rows = 5;
  call[2].a.k_elements = 80;
  EXPECT_EQ(call.complaint(), "group 2: a is 5 x 80 but the plan has m = 5, k = 64");
}

TEST(Operands, WithFactorsThatAreNotFinite) {
  Call call(dual());
  call[0].a.global_scale = NAN;
  EXPECT_EQ(call.complaint(), "group 0: a.global_scale = nan is not finite");
  call[0].a.global_scale = 1.0f;
  call[0].alpha_up = -kInfinity;
  EXPECT_EQ(call.complaint(), "group 0: alpha_up = -inf is not finite");
  call[0].alpha = NAN;
  EXPECT_EQ(call.complaint(), "group 0: alpha = nan is not finite");
}

TEST(Operands, WithFactorsBeyondTheLimit) {
  Call call(make_problem({3}, 33, 64, Op::kDual, Activations::kBf16));
  const float up_scale = call.scene().inputs().groups[0].b_up.global_scale;
  call[0].alpha_up = 0x1.8p96f / up_scale;
  EXPECT_EQ(call.complaint(),
            "group 0: alpha_up times the global scales = 1.19e+29 is beyond 2^96");
  call[0].alpha_up = 0x1p95f / up_scale;
  EXPECT_EQ(call.complaint(), "no error");
}

TEST(Operands, OfGemmHaveNoAlphaUp) {
  Call call(gemm());
  call[0].alpha_up = NAN;
  EXPECT_EQ(call.complaint(), "no error");
}

TEST(Operands, WithoutOutput) {
  Call call(gemm());
  call[2].c = nullptr;
  EXPECT_EQ(call.complaint(), "group 2: c is null");
}

TEST(Operands, WithMisalignedOutput) {
  for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
    Call call(make_problem({3}, 33, 64, Op::kGemm, Activations::kNvfp4, output));
    call[0].c = static_cast<std::uint8_t*>(call[0].c) + 1;
    EXPECT_EQ(call.complaint(), "group 0: c is not aligned to its element size of " +
                                    std::to_string(bytes_per_element(output)) + " bytes");
  }
}

TEST(Operands, WithAStrideOutOfRange) {
  Call call(gemm());
  for (const std::int64_t stride : {std::int64_t{32}, std::int64_t{-33}, std::int64_t{1} << 60}) {
    call[2].c_stride_elements = stride;
    EXPECT_EQ(call.complaint(), "group 2: c_stride_elements = " + std::to_string(stride) +
                                    " is not between n = 33 and 219902325555");
  }
  call[2].c_stride_elements = 0;  // means n
  EXPECT_EQ(call.complaint_of_check(), "no error");
}

TEST(Operands, WithAPlanForAnotherThreadCount) {
  Call call(gemm());
  const Engine other({.thread_count = 3});
  Workspace workspace(call.plan());
  const std::string expected = "the plan was made for 2 threads, this engine has 3";
  EXPECT_EQ(error_message([&] { other.check(call.plan(), call.scene().operands()); }), expected);
  EXPECT_EQ(error_message([&] { other.run(call.plan(), call.scene().operands(), workspace); }),
            expected);
  const Engine same({.thread_count = 2});
  EXPECT_EQ(error_message([&] { same.run(call.plan(), call.scene().operands(), workspace); }),
            "no error");
}

TEST(Operands, WithAWorkspaceTooSmall) {
  Call call(make_problem({40}, 33, 640));
  Workspace small(call.engine().plan(make_problem({1}, 33, 64)));
  const std::string needed = std::to_string(call.plan().workspace_bytes());
  ASSERT_LT(small.bytes(), call.plan().workspace_bytes());
  EXPECT_EQ(call.complaint_of_run(small), "the workspace has " + std::to_string(small.bytes()) +
                                              " bytes, the plan needs " + needed);

  Workspace workspace(call.plan());
  Workspace taken = std::move(workspace);
  EXPECT_EQ(call.complaint_of_run(workspace),
            "the workspace has 0 bytes, the plan needs " + needed);
  EXPECT_EQ(call.complaint_of_run(taken), "no error");
}

// check() does not read the activations; run() does, in every variant, and before it writes.
TEST(Operands, WithANanScale) {
  for (const std::string& variant : Engine({.thread_count = 2}).variants()) {
    const Engine engine({.thread_count = 2});
    const Problem problem = make_problem({3, 0, 45}, 33, 80);
    if (!engine.supports(problem, variant).ok) continue;
    Scene scene(engine, problem, InputFamily::kNatural, kSeed);
    std::vector<std::uint8_t> scales = scene.inputs().groups[2].a.scales;
    scales[44 * 5 + 4] = 0xff;  // the last one: the tail of k in the last row
    scene.operands()[2].a.scales = scales.data();
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
class Overlap : public ::testing::Test {
 protected:
  std::string complaint() { return call_.complaint_of_check(); }
  float* c(std::size_t group) { return static_cast<float*>(call_[group].c); }

  static constexpr std::int64_t kColumns = 16;
  Call call_{make_problem({4, 4}, kColumns, 64)};
  std::vector<float> memory_ = std::vector<float>(1024);

  void SetUp() override {
    for (std::size_t group : {0, 1}) {
      call_[group].c = memory_.data() + 4 * kColumns * group;
      call_[group].c_stride_elements = 0;
    }
  }
};

TEST_F(Overlap, TouchingIsFine) { EXPECT_EQ(complaint(), "no error"); }

TEST_F(Overlap, OfTwoOutputs) {
  call_[1].c = c(1) - 1;
  EXPECT_EQ(complaint(), "c of group 0 overlaps c of group 1");
  call_[1].c = c(0);
  EXPECT_NE(complaint(), "no error");
}

TEST_F(Overlap, OfAnOutputInsideAnother) {
  call_[0].c_stride_elements = 100;
  call_[1].c = c(0) + 300 - 64;
  EXPECT_EQ(complaint(), "c of group 0 overlaps c of group 1");
  call_[1].c = c(0) + 300 + kColumns;
  EXPECT_EQ(complaint(), "no error");
}

TEST_F(Overlap, OfAnOutputWithActivations) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(memory_.data());
  const std::size_t c_bytes = 2 * 4 * kColumns * sizeof(float);
  call_[0].a.codes = bytes + c_bytes - 1;
  EXPECT_EQ(complaint(), "c of group 1 overlaps a.codes of group 0");
  call_[0].a.codes = bytes + c_bytes;
  EXPECT_EQ(complaint(), "no error");
  call_[1].a.scales = bytes;
  EXPECT_NE(complaint().find("a.scales of group 1"), std::string::npos) << complaint();
}

TEST_F(Overlap, OfAnOutputWith16BitActivations) {
  Call call(make_problem({4}, kColumns, 64, Op::kGemm, Activations::kBf16));
  call[0].a16 = static_cast<const std::uint16_t*>(call[0].c) - 4 * 64 + 1;
  EXPECT_EQ(call.complaint_of_check(), "a16 of group 0 overlaps c of group 0");
}

// A small input lies in a large one, and an output behind it: the search must remember the large
// one.
TEST_F(Overlap, OfAnOutputWithTheFarEndOfWeights) {
  const cpu::Pages& pages = call_[0].weights->state().packed.pages;
  call_[0].a.codes = pages.data() + 64;
  call_[1].c = pages.data() + pages.bytes() - 4;
  EXPECT_EQ(complaint(), "weights of group 0 overlaps c of group 1");
}

TEST_F(Overlap, OfInputsIsFine) {
  call_[1].a = call_[0].a;
  call_[1].weights = call_[0].weights;
  EXPECT_EQ(complaint(), "no error");
  EXPECT_EQ(call_.complaint(), "no error");
}

}  // namespace
}  // namespace thresher
