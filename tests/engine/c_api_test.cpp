// SPDX-License-Identifier: Apache-2.0
// The C twin gives the bytes of the C++ engine, and a status and a message for everything that it
// is given wrong. from_c.c in examples/ is its test as C.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/c_handles.hpp"
#include "gemm/inputs.hpp"
#include "nvfp4/half.hpp"
#include "support/scene.hpp"
#include "thresher/engine.hpp"
#include "thresher/thresher.h"

namespace thresher {
namespace {

using testing::c_view;
using testing::make_engine;
using testing::make_problem;
using testing::Memory;
using testing::OwnedEngine;
using testing::OwnedPlan;
using testing::OwnedWeights;
using testing::OwnedWorkspace;
using testing::Scene;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kSeed = 20260406;

// A problem of the C++ side, taken through the C functions.
class Twin {
 public:
  Twin(const thresher_engine* engine, const Problem& problem) : engine_(engine) {
    for (const Group& group : problem.groups) groups_.push_back({group.m, group.n, group.k});
    problem_ = {.name = problem.name.c_str(),
                .op = static_cast<thresher_op>(problem.op),
                .activations = static_cast<thresher_activations>(problem.activations),
                .output = static_cast<thresher_output>(problem.output),
                .groups = groups_.data(),
                .group_count = static_cast<std::int64_t>(groups_.size())};
  }

  void pack(Op op, const Inputs& inputs) {
    for (const GroupInputs& group : inputs.groups) {
      const thresher_nvfp4_view b = c_view(group.b);
      const thresher_nvfp4_view up = c_view(group.b_up);
      thresher_weights* weights = nullptr;
      EXPECT_EQ(op == Op::kDual ? thresher_pack_dual(engine_, &b, &up, &weights)
                                : thresher_pack(engine_, &b, &weights),
                THRESHER_OK)
          << thresher_last_error();
      weights_.emplace_back(weights);
    }
  }

  // The scene's operands with these weights.
  void take_operands(Scene& scene) {
    for (const GroupOperands& cpp : scene.operands()) {
      operands_.push_back(
          {.a = {cpp.a.codes, cpp.a.scales, cpp.a.rows, cpp.a.k_elements, cpp.a.global_scale},
           .a16 = cpp.a16,
           .weights = weights_[operands_.size()].get(),
           .c = cpp.c,
           .c_stride_elements = cpp.c_stride_elements,
           .alpha = cpp.alpha,
           .alpha_up = cpp.alpha_up});
    }
  }

  void run(const char* variant) {
    thresher_plan* plan = nullptr;
    ASSERT_EQ(thresher_plan_create(engine_, &problem_, variant, &plan), THRESHER_OK)
        << thresher_last_error();
    const OwnedPlan owned_plan(plan);
    thresher_workspace* workspace = nullptr;
    ASSERT_EQ(thresher_workspace_create(plan, &workspace), THRESHER_OK) << thresher_last_error();
    const OwnedWorkspace owned_workspace(workspace);
    const auto count = static_cast<std::int64_t>(operands_.size());
    EXPECT_EQ(thresher_check(engine_, plan, operands_.data(), count), THRESHER_OK)
        << thresher_last_error();
    EXPECT_EQ(thresher_run(engine_, plan, operands_.data(), count, workspace), THRESHER_OK)
        << thresher_last_error();
  }

  const thresher_problem& problem() const { return problem_; }

 private:
  const thresher_engine* engine_;
  std::vector<thresher_group> groups_;
  thresher_problem problem_;
  std::vector<OwnedWeights> weights_;
  std::vector<thresher_group_operands> operands_;
};

TEST(CApi, ComputesWhatCppComputes) {
  const OwnedEngine engine = make_engine(2);
  const Engine cpp({.thread_count = 2});
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
        const Problem problem = make_problem({5, 0, 18}, 33, 144, op, activations, output);
        Scene scene(cpp, problem, InputFamily::kNatural, kSeed);
        scene.run(cpp, "");
        const Bytes expected = scene.output_bytes();
        scene.poison();
        Twin twin(engine.get(), problem);
        twin.pack(op, scene.inputs());
        twin.take_operands(scene);
        twin.run(nullptr);
        EXPECT_EQ(scene.output_bytes(), expected)
            << to_string(op) << ", " << to_string(activations) << ", " << to_string(output);
        EXPECT_TRUE(scene.guards_intact());
      }
    }
  }
}

TEST(CApi, VersionIsThatOfTheProject) {
  std::ifstream file(THRESHER_SOURCE_DIR "/CMakeLists.txt");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string line = std::string("project(thresher VERSION ") + thresher_version() + " ";
  EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(CApi, NamesTheVariantsOfTheEngine) {
  const OwnedEngine engine = make_engine(2);
  const Engine cpp({.thread_count = 2});
  EXPECT_EQ(thresher_thread_count(engine.get()), 2);
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < thresher_variant_count(engine.get()); ++i) {
    names.emplace_back(thresher_variant_name(engine.get(), i));
  }
  EXPECT_EQ(names, cpp.variants());
}

TEST(CApi, PlanTellsItsVariantAndItsScratch) {
  const OwnedEngine engine = make_engine(2);
  const Problem problem = make_problem({5}, 33, 64);
  const Twin twin(engine.get(), problem);
  const Plan expected = Engine({.thread_count = 2}).plan(problem, "cpu_portable:stages=3");
  thresher_plan* plan = nullptr;
  ASSERT_EQ(thresher_plan_create(engine.get(), &twin.problem(), "cpu_portable:stages=3", &plan),
            THRESHER_OK);
  const OwnedPlan owned(plan);
  EXPECT_EQ(thresher_plan_variant(plan), expected.variant());
  EXPECT_EQ(thresher_plan_workspace_bytes(plan), expected.workspace_bytes());
}

TEST(CApi, UnpacksWhatWasPacked) {
  const OwnedEngine engine = make_engine(2);
  const Problem problem = make_problem({1}, 21, 80, Op::kDual);
  const GroupInputs inputs = make_inputs(problem, InputFamily::kFull, kSeed).groups[0];
  const thresher_nvfp4_view gate = c_view(inputs.b);
  const thresher_nvfp4_view up = c_view(inputs.b_up);
  thresher_weights* weights = nullptr;
  ASSERT_EQ(thresher_pack_dual(engine.get(), &gate, &up, &weights), THRESHER_OK);
  const OwnedWeights owned(weights);
  const Weights expected =
      Engine({.thread_count = 1}).pack_dual(inputs.b.view(), inputs.b_up.view());
  EXPECT_EQ(thresher_weights_bytes(weights), expected.bytes());
  Memory memory(21, 80);
  EXPECT_EQ(thresher_unpack(weights, &memory.buffer), THRESHER_OK);
  memory.expect(inputs.b);
  EXPECT_EQ(thresher_unpack_up(weights, &memory.buffer), THRESHER_OK);
  memory.expect(inputs.b_up);
}

TEST(CApi, QuantizesAndDequantizes) {
  std::vector<float> values;
  std::vector<std::uint16_t> fp16, bf16;
  std::vector<Fp16> cpp_fp16;
  std::vector<Bf16> cpp_bf16;
  for (int i = 0; i < 3 * 32; ++i) {
    values.push_back(std::sin(static_cast<float>(i)));
    cpp_fp16.push_back({fp16.emplace_back(nvfp4::float_to_fp16(values.back()))});
    cpp_bf16.push_back({bf16.emplace_back(nvfp4::float_to_bf16(values.back()))});
  }
  for (const bool global : {false, true}) {
    Memory memory(3, 32);
    EXPECT_EQ(thresher_quantize_fp16(fp16.data(), global, &memory.buffer), THRESHER_OK);
    memory.expect(quantize(cpp_fp16, 3, 32, {.global_scale = global}));
    EXPECT_EQ(thresher_quantize_bf16(bf16.data(), global, &memory.buffer), THRESHER_OK);
    memory.expect(quantize(cpp_bf16, 3, 32, {.global_scale = global}));
    EXPECT_EQ(thresher_quantize(values.data(), global, &memory.buffer), THRESHER_OK);
    const Nvfp4Matrix expected = quantize(values, 3, 32, {.global_scale = global});
    memory.expect(expected);

    const thresher_nvfp4_view view = thresher_view(&memory.buffer);
    std::vector<float> floats(values.size());
    EXPECT_EQ(thresher_dequantize(&view, floats.data()), THRESHER_OK);
    EXPECT_EQ(floats, dequantize(expected.view()));
  }
}

TEST(CApi, DestroyAcceptsNull) {
  thresher_engine_destroy(nullptr);
  thresher_weights_destroy(nullptr);
  thresher_plan_destroy(nullptr);
  thresher_workspace_destroy(nullptr);
}

}  // namespace
}  // namespace thresher
