// SPDX-License-Identifier: Apache-2.0
// The C twin gives the bytes of the C++ engine, on every device. c_api_errors_test.cpp has what it
// says of arguments that are wrong; from_c.c in examples/ is its test as C.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "engine/c_handles.hpp"
#include "gemm/inputs.hpp"
#include "nvfp4/half.hpp"
#include "support/on_devices.hpp"
#include "support/scene.hpp"
#include "thresher/engine.hpp"
#include "thresher/thresher.h"

namespace thresher {
namespace {

using testing::c_view;
using testing::make_engine;
using testing::make_problem;
using testing::Memory;
using testing::OnDevice;
using testing::OwnedBuffer;
using testing::OwnedCall;
using testing::OwnedEngine;
using testing::OwnedPlan;
using testing::OwnedWeights;
using testing::OwnedWorkspace;
using testing::Scene;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kCApiSeed = 20260406;

template <class Handle, class Create>
Handle* created(const Create& create) {
  Handle* handle = nullptr;
  EXPECT_EQ(create(&handle), THRESHER_OK) << thresher_last_error();
  return handle;
}

thresher_rows c_rows(const Rows& rows) {
  return {rows.a, rows.a_scales, rows.c, rows.c_stride_elements};
}

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

  // Weights of the scene's inputs, and operands on the scene's rows.
  void take(const Scene& scene) {
    for (const GroupInputs& inputs : scene.inputs().groups) {
      const thresher_weight_matrices matrices{.op = problem_.op,
                                              .b = c_view(inputs.b),
                                              .up = c_view(inputs.b_up),
                                              .activations = problem_.activations};
      weights_.emplace_back(created<thresher_weights>(
          [&](auto** handle) { return thresher_pack(engine_, &matrices, handle); }));
    }
    const Operands cpp = scene.operands();
    for (const GroupOperands& group : cpp.groups) {
      own_.push_back({.weights = weights_[own_.size()].get(),
                      .a_global_scale = group.a_global_scale,
                      .alpha = group.alpha,
                      .alpha_up = group.alpha_up,
                      .rows = c_rows(group.rows)});
    }
    operands_ = {.groups = own_.data(),
                 .group_count = static_cast<std::int64_t>(own_.size()),
                 .rows = c_rows(cpp.rows)};
  }

  void plan(const char* variant = nullptr, std::int64_t tokens_max = 0) {
    plan_.reset(created<thresher_plan>([&](auto** handle) {
      return thresher_plan_create(engine_, &problem_, variant, tokens_max, handle);
    }));
    workspace_.reset(created<thresher_workspace>(
        [&](auto** handle) { return thresher_workspace_create(engine_, plan_.get(), handle); }));
  }

  void run() {
    plan();
    EXPECT_EQ(thresher_check(engine_, plan_.get(), &operands_), THRESHER_OK)
        << thresher_last_error();
    EXPECT_EQ(thresher_run(engine_, plan_.get(), &operands_, workspace_.get()), THRESHER_OK)
        << thresher_last_error();
  }

  OwnedCall bind() {
    return OwnedCall(created<thresher_call>([&](auto** handle) {
      return thresher_bind(engine_, plan_.get(), &operands_, workspace_.get(), handle);
    }));
  }

  std::vector<thresher_group>& groups() { return groups_; }
  thresher_operands& operands() { return operands_; }
  const thresher_problem& problem() const { return problem_; }
  const thresher_plan* made_plan() const { return plan_.get(); }
  const thresher_workspace* made_workspace() const { return workspace_.get(); }

 private:
  const thresher_engine* engine_;
  std::vector<thresher_group> groups_;
  thresher_problem problem_;
  std::vector<OwnedWeights> weights_;
  std::vector<thresher_group_operands> own_;
  thresher_operands operands_ = {};
  OwnedPlan plan_;
  OwnedWorkspace workspace_;
};

class CApiTest : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (!IsSkipped()) twin_ = make_engine({.device = GetParam(), .thread_count = 2});
  }
  const thresher_engine* twin() const { return twin_.get(); }

 private:
  OwnedEngine twin_;
};
ON_DEVICES(CApiTest);

TEST_P(CApiTest, ComputesWhatCppComputes) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
        const Problem problem = make_problem({5, 0, 3}, 33, 80, op, activations, output);
        Scene scene(engine(), problem, InputFamily::kNatural, kCApiSeed,
                    {.together = output == Output::kBf16});
        scene.run(engine());
        const Bytes expected = scene.output_bytes();
        scene.poison();
        Twin problem_in_c(twin(), problem);
        problem_in_c.take(scene);
        problem_in_c.run();
        EXPECT_EQ(scene.output_bytes(), expected)
            << to_string(op) << ", " << to_string(activations) << ", " << to_string(output);
        EXPECT_TRUE(scene.guards_intact());
      }
    }
  }
}

TEST_P(CApiTest, QueuesCalls) {
  const Problem problem = make_problem({5, 0, 3}, 33, 144);
  Scene scene(engine(), problem, InputFamily::kExact, kCApiSeed, {.together = true});
  Scene other(engine(), problem, InputFamily::kExact, kCApiSeed, {.together = true});
  Twin twin_of(twin(), problem);
  twin_of.take(scene);
  twin_of.plan();
  const OwnedCall call = twin_of.bind();
  scene.poison();
  EXPECT_EQ(thresher_enqueue(call.get(), nullptr), THRESHER_OK) << thresher_last_error();
  EXPECT_EQ(thresher_synchronize(twin()), THRESHER_OK) << thresher_last_error();
  EXPECT_EQ(scene.why_wrong(), "");

  other.poison();
  const thresher_rows rows = c_rows(other.rows());
  EXPECT_EQ(thresher_enqueue_rows(call.get(), &rows, nullptr), THRESHER_OK)
      << thresher_last_error();
  EXPECT_EQ(thresher_synchronize(twin()), THRESHER_OK);
  EXPECT_EQ(other.why_wrong(), "");
}

TEST_P(CApiTest, TakesCountsFromTheDevice) {
  Scene scene(engine(), make_problem({5, 0, 3}, 33, 144));
  Twin twin_of(twin(), scene.problem());
  twin_of.take(scene);
  for (thresher_group& group : twin_of.groups()) group.m = 0;
  twin_of.plan(nullptr, 10);
  EXPECT_EQ(thresher_plan_tokens_max(twin_of.made_plan()), 10);
  twin_of.operands().device_counts = scene.counted_operands().counts.counts;
  for (const std::int64_t tokens_max : {0, 8}) {
    twin_of.operands().tokens_max = tokens_max;
    const OwnedCall call = twin_of.bind();
    scene.poison();
    EXPECT_EQ(thresher_enqueue(call.get(), nullptr), THRESHER_OK) << thresher_last_error();
    EXPECT_EQ(thresher_synchronize(twin()), THRESHER_OK);
    EXPECT_EQ(scene.why_wrong(), "") << tokens_max;
  }
}

TEST_P(CApiTest, TellsOfTheEngine) {
  EXPECT_EQ(thresher_engine_device(twin()), engine().device());
  EXPECT_EQ(thresher_engine_description(twin()), engine().description());
  EXPECT_EQ(thresher_thread_count(twin()), engine().thread_count());
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < thresher_variant_count(twin()); ++i) {
    names.emplace_back(thresher_variant_name(twin(), i));
  }
  EXPECT_EQ(names, engine().variants());
}

TEST_P(CApiTest, SaysWhatItWouldTakeAndWhatItCannot) {
  const Problem problem = make_problem({5, 2}, 33, 64);
  Twin twin_of(twin(), problem);
  const thresher_problem& c_problem = twin_of.problem();
  EXPECT_EQ(thresher_choose(twin(), &c_problem, 0), engine().choose(problem));
  EXPECT_EQ(thresher_choose(twin(), &c_problem, 900), engine().choose(problem, 900));
  EXPECT_STREQ(thresher_why_not_supported(twin(), &c_problem, engine().variants()[0].c_str()), "");
  for (const std::string& name : engine().state().row().named_variants()) {
    EXPECT_EQ(thresher_why_not_supported(twin(), &c_problem, name.c_str()),
              engine().supports(problem, name).why_not);
  }
  EXPECT_EQ(thresher_why_not_supported(twin(), &c_problem, "no variant"), nullptr);
  EXPECT_STRNE(thresher_last_error(), "");
  EXPECT_EQ(thresher_choose(twin(), nullptr, 0), nullptr);
  EXPECT_STREQ(thresher_last_error(), "problem is null");
}

TEST_P(CApiTest, SaysWhyThereIsNoDevice) {
  const thresher_engine_options here{.device = GetParam()};
  EXPECT_STREQ(thresher_why_no_device(&here), "");
  const thresher_engine_options nowhere{.device = "gpu:1000"};
  EXPECT_EQ(thresher_why_no_device(&nowhere), why_no_device({.device = "gpu:1000"}));
  EXPECT_STREQ(thresher_why_no_device(nullptr), "");
}

TEST(CApi, QuantizesOnAsManyThreadsAsAreAllowed) {
  std::vector<float> values(40 * 64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37) - 17.5f;
  Bytes codes[2] = {Bytes(40 * 32), Bytes(40 * 32)};
  Bytes scales[2] = {Bytes(40 * 4), Bytes(40 * 4)};
  thresher_nvfp4_buffer some{codes[0].data(), scales[0].data(), 40, 64, 0};
  thresher_nvfp4_buffer one{codes[1].data(), scales[1].data(), 40, 64, 0};
  EXPECT_EQ(thresher_quantize(values.data(), 1, &some), THRESHER_OK);
  EXPECT_EQ(thresher_quantize_on_threads(values.data(), THRESHER_C_FP32, 1, 1, &one), THRESHER_OK);
  EXPECT_EQ(codes[0], codes[1]);
  EXPECT_EQ(scales[0], scales[1]);
  EXPECT_EQ(some.global_scale, one.global_scale);
  for (const thresher_output type : {THRESHER_C_FP16, THRESHER_C_BF16}) {
    const std::vector<std::uint16_t> halves(40 * 64, type == THRESHER_C_FP16 ? 0x4600 : 0x40c0);
    EXPECT_EQ(thresher_quantize_on_threads(halves.data(), type, 0, 2, &one), THRESHER_OK);
    const thresher_nvfp4_view written = thresher_view(&one);
    EXPECT_EQ(thresher_dequantize(&written, values.data()), THRESHER_OK);
    EXPECT_EQ(values, std::vector<float>(40 * 64, 6.0f)) << type;
  }
  EXPECT_EQ(thresher_quantize_on_threads(values.data(), 3, 1, 1, &one), THRESHER_INVALID);
  EXPECT_EQ(thresher_quantize_on_threads(values.data(), THRESHER_C_FP32, 1, -1, &one),
            THRESHER_INVALID);
  EXPECT_STREQ(thresher_last_error(), "thread_count is negative");
}

TEST(CApi, ChecksAMatrix) {
  const Bytes codes(2 * 8);
  Bytes scales(2, 0x38);
  const thresher_nvfp4_view matrix{codes.data(), scales.data(), 2, 16, 1};
  EXPECT_EQ(thresher_check_matrix(&matrix, "gate"), THRESHER_OK) << thresher_last_error();
  scales[1] = 0x7f;
  EXPECT_EQ(thresher_check_matrix(&matrix, "gate"), THRESHER_INVALID);
  EXPECT_TRUE(std::string(thresher_last_error()).starts_with("gate"));
  EXPECT_EQ(thresher_check_matrix(nullptr, "gate"), THRESHER_INVALID);
}

TEST_P(CApiTest, TellsOfAPlan) {
  const Problem problem = make_problem({5, 2}, 33, 64);
  const char* variant = is_cpu() ? "cpu_portable:stages=3" : "gpu_sm90:launches=per_group";
  const Plan expected = engine().plan(problem, variant);
  Twin twin_of(twin(), problem);
  twin_of.plan(variant);
  const thresher_plan* plan = twin_of.made_plan();
  const thresher_problem made_for = thresher_plan_problem(plan);
  EXPECT_EQ(made_for.name, problem.name);
  EXPECT_EQ(made_for.op, THRESHER_GEMM);
  EXPECT_EQ(made_for.activations, static_cast<thresher_activations>(problem.activations));
  EXPECT_EQ(made_for.output, static_cast<thresher_output>(problem.output));
  ASSERT_EQ(made_for.group_count, 2);
  EXPECT_EQ(made_for.groups[1].m, 2);
  EXPECT_EQ(made_for.groups[1].n, 33);
  EXPECT_EQ(made_for.groups[1].k, 64);
  EXPECT_EQ(thresher_workspace_bytes(twin_of.made_workspace()),
            engine().workspace(expected).bytes());
  EXPECT_EQ(thresher_plan_variant(plan), expected.variant());
  EXPECT_EQ(thresher_plan_workspace_bytes(plan), expected.workspace_bytes());
  EXPECT_EQ(thresher_plan_tokens_max(plan), 7);
  EXPECT_EQ(thresher_plan_kernel_launch_count(plan), is_cpu() ? 0 : 3);
  EXPECT_EQ(thresher_plan_graph_launch_count(plan), 0);
  const auto count = static_cast<std::int64_t>(expected.kernels().size());
  ASSERT_EQ(thresher_plan_kernel_count(plan), count);
  for (std::int64_t i = 0; i < count; ++i) {
    const KernelReport& report = expected.kernels()[static_cast<std::size_t>(i)];
    const thresher_kernel_report twin_report = thresher_plan_kernel(plan, i);
    EXPECT_EQ(twin_report.name, report.name);
    EXPECT_EQ(twin_report.register_count, report.register_count);
    EXPECT_EQ(twin_report.spill_bytes, report.spill_bytes);
    EXPECT_EQ(twin_report.shared_bytes, report.shared_bytes);
    EXPECT_EQ(twin_report.block_count, report.block_count);
    EXPECT_EQ(twin_report.thread_count, report.thread_count);
  }
  EXPECT_EQ(thresher_plan_kernel(plan, count).name, nullptr);
  EXPECT_EQ(thresher_last_error(),
            "index = " + std::to_string(count) + " is not in 0.." + std::to_string(count - 1));
}

TEST_P(CApiTest, UnpacksWhatWasPacked) {
  const Problem problem = make_problem({1}, 21, 80, Op::kDual);
  const GroupInputs inputs = make_inputs(problem, InputFamily::kFull, kCApiSeed).groups[0];
  const thresher_weight_matrices matrices{
      .op = THRESHER_DUAL, .b = c_view(inputs.b), .up = c_view(inputs.b_up)};
  const OwnedWeights weights(created<thresher_weights>(
      [&](auto** handle) { return thresher_pack(twin(), &matrices, handle); }));
  const OwnedWeights copy(created<thresher_weights>(
      [&](auto** handle) { return thresher_duplicate(twin(), weights.get(), handle); }));
  const Weights expected =
      engine().pack({.op = Op::kDual, .b = inputs.b.view(), .up = inputs.b_up.view()});
  for (const thresher_weights* handle : {weights.get(), copy.get()}) {
    EXPECT_EQ(thresher_weights_bytes(handle), expected.bytes());
    EXPECT_EQ(thresher_weights_op(handle), THRESHER_DUAL);
    EXPECT_EQ(thresher_weights_n(handle), 21);
    EXPECT_EQ(thresher_weights_k_elements(handle), 80);
    Memory memory(21, 80);
    EXPECT_EQ(thresher_unpack(handle, &memory.buffer), THRESHER_OK);
    memory.expect(inputs.b);
    EXPECT_EQ(thresher_unpack_up(handle, &memory.buffer), THRESHER_OK);
    memory.expect(inputs.b_up);
  }
}

TEST_P(CApiTest, CopiesIntoBuffersAndOutOfThem) {
  const OwnedBuffer buffer(created<thresher_buffer>(
      [&](auto** handle) { return thresher_buffer_create(twin(), 64, handle); }));
  EXPECT_EQ(thresher_buffer_bytes(buffer.get()), 64u);
  EXPECT_NE(thresher_buffer_data(buffer.get()), nullptr);
  const Bytes bytes = {1, 2, 3};
  EXPECT_EQ(thresher_copy_in(buffer.get(), bytes.data(), 3, 61), THRESHER_OK);
  Bytes back(2);
  EXPECT_EQ(thresher_copy_out(buffer.get(), back.data(), 2, 62), THRESHER_OK);
  EXPECT_EQ(back, (Bytes{2, 3}));
  EXPECT_EQ(thresher_copy_in(buffer.get(), nullptr, 0, 64), THRESHER_OK);
  EXPECT_EQ(thresher_copy_out(buffer.get(), back.data(), 2, 63), THRESHER_INVALID);
  EXPECT_STREQ(thresher_last_error(),
               "a copy out of 2 bytes at offset 63 does not fit a buffer of 64 bytes");
}

TEST(CApi, MakesAnEngineOfTheCpuIfNobodySays) {
  for (const thresher_engine_options& options : {thresher_engine_options{}, {.device = "cpu"}}) {
    const OwnedEngine engine = make_engine(options);
    EXPECT_STREQ(thresher_engine_device(engine.get()), "cpu");
    EXPECT_EQ(thresher_thread_count(engine.get()), Engine().thread_count());
  }
  thresher_engine* engine = nullptr;
  ASSERT_EQ(thresher_engine_create(nullptr, &engine), THRESHER_OK);
  EXPECT_STREQ(thresher_engine_device(engine), "cpu");
  thresher_engine_destroy(engine);
}

TEST(CApi, VersionIsThatOfTheProject) {
  std::ifstream file(THRESHER_SOURCE_DIR "/CMakeLists.txt");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string line = std::string("project(thresher VERSION ") + thresher_version() + " ";
  EXPECT_NE(text.find(line), std::string::npos) << line;
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

TEST(CApi, QuantizesToAGivenScale) {
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  Memory memory(1, 32);
  memory.buffer.global_scale = 0.25f;
  EXPECT_EQ(thresher_quantize(values.data(), THRESHER_GLOBAL_SCALE_GIVEN, &memory.buffer),
            THRESHER_OK);
  EXPECT_EQ(memory.buffer.global_scale, 0.25f);
  memory.expect(quantize(values, 1, 32, {.given_global_scale = 0.25f}));
  memory.buffer.global_scale = 0;
  EXPECT_EQ(thresher_quantize(values.data(), THRESHER_GLOBAL_SCALE_GIVEN, &memory.buffer),
            THRESHER_INVALID);
}

TEST(CApi, SwizzlesScales) {
  constexpr std::int64_t kRows = 130, kPerRow = 5;
  Bytes scales(kRows * kPerRow);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<std::uint8_t>(i % 127);
  const Bytes expected = swizzle_scales_128x4(scales, kRows, kPerRow);
  Bytes swizzled(256 * 8), back(scales.size());
  ASSERT_EQ(swizzled.size(), expected.size());
  EXPECT_EQ(thresher_swizzle_scales_128x4(scales.data(), kRows, kPerRow, swizzled.data()),
            THRESHER_OK);
  EXPECT_EQ(swizzled, expected);
  EXPECT_EQ(thresher_unswizzle_scales_128x4(swizzled.data(), kRows, kPerRow, back.data()),
            THRESHER_OK);
  EXPECT_EQ(back, scales);
  EXPECT_EQ(thresher_swizzle_scales_128x4(scales.data(), -1, kPerRow, swizzled.data()),
            THRESHER_INVALID);
  EXPECT_EQ(thresher_swizzle_scales_128x4(nullptr, 1, 1, swizzled.data()), THRESHER_INVALID);
  EXPECT_STREQ(thresher_last_error(), "scales is null");
}

TEST(CApi, DestroyAcceptsNull) {
  thresher_engine_destroy(nullptr);
  thresher_weights_destroy(nullptr);
  thresher_plan_destroy(nullptr);
  thresher_workspace_destroy(nullptr);
  thresher_buffer_destroy(nullptr);
  thresher_call_destroy(nullptr);
}

}  // namespace
}  // namespace thresher
