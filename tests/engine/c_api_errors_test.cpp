// SPDX-License-Identifier: Apache-2.0
// Whatever the C twin is given wrong, it answers with a status and a message, and creates nothing.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "engine/c_handles.hpp"
#include "thresher/problem.hpp"
#include "thresher/thresher.h"

namespace thresher {
namespace {

using testing::make_engine;
using testing::Memory;
using testing::OwnedBuffer;
using testing::OwnedCall;
using testing::OwnedEngine;
using testing::OwnedPlan;

#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
constexpr bool kCApiErrorsSanitized = true;
#else
constexpr bool kCApiErrorsSanitized = false;
#endif

// Everything valid; each test spoils one argument. `expect` sees status and message.
class CApiErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(thresher_pack(engine(), &matrices_, &weights_), THRESHER_OK);
    ASSERT_EQ(thresher_plan_create(engine(), &problem_, nullptr, 0, &plan_), THRESHER_OK);
    ASSERT_EQ(thresher_workspace_create(engine(), plan_, &workspace_), THRESHER_OK);
    own_.weights = weights_;
  }
  void TearDown() override {
    thresher_workspace_destroy(workspace_);
    thresher_plan_destroy(plan_);
    thresher_weights_destroy(weights_);
  }

  const thresher_engine* engine() const { return engine_.get(); }

  static void expect(thresher_status status, const std::string& message) {
    EXPECT_EQ(status, THRESHER_INVALID) << message;
    EXPECT_EQ(thresher_last_error(), message);
  }

  // What plan_create says, and that it leaves no handle behind.
  void expect_no_plan(const std::string& message) {
    thresher_plan* plan = plan_;
    expect(thresher_plan_create(engine(), &problem_, nullptr, 0, &plan), message);
    EXPECT_EQ(plan, nullptr);
  }

  // What check, run and bind say.
  void expect_no_call(const std::string& message) {
    thresher_call* call = nullptr;
    expect(thresher_check(engine(), plan_, &operands_), message);
    expect(thresher_run(engine(), plan_, &operands_, workspace_), message);
    expect(thresher_bind(engine(), plan_, &operands_, workspace_, &call), message);
    EXPECT_EQ(call, nullptr);
  }

  const OwnedEngine engine_ = make_engine({.thread_count = 1});
  Memory memory_{16, 64};
  thresher_weight_matrices matrices_{
      .b = {memory_.codes.data(), memory_.scales.data(), 16, 64, 1.0f}};
  thresher_group group_{.m = 2, .n = 16, .k = 64};
  thresher_problem problem_{
      .name = "spoilt", .output = THRESHER_C_FP32, .groups = &group_, .group_count = 1};
  float c_[2 * 16] = {};
  thresher_group_operands own_{.a_global_scale = 1.0f, .alpha = 1.0f};
  thresher_operands operands_{
      .groups = &own_,
      .group_count = 1,
      .rows = {.a = memory_.codes.data(), .a_scales = memory_.scales.data(), .c = c_}};
  thresher_weights* weights_ = nullptr;
  thresher_plan* plan_ = nullptr;
  thresher_workspace* workspace_ = nullptr;
};

TEST_F(CApiErrors, NullForACreatedHandle) {
  expect(thresher_engine_create(nullptr, nullptr), "engine is null");
  expect(thresher_pack(engine(), &matrices_, nullptr), "weights is null");
  expect(thresher_duplicate(engine(), weights_, nullptr), "copy is null");
  expect(thresher_plan_create(engine(), &problem_, nullptr, 0, nullptr), "plan is null");
  expect(thresher_workspace_create(engine(), plan_, nullptr), "workspace is null");
  expect(thresher_buffer_create(engine(), 1, nullptr), "buffer is null");
  expect(thresher_bind(engine(), plan_, &operands_, workspace_, nullptr), "call is null");
}

TEST_F(CApiErrors, NullForAnArgument) {
  thresher_weights* weights = weights_;
  expect(thresher_pack(nullptr, &matrices_, &weights), "engine is null");
  EXPECT_EQ(weights, nullptr);
  expect(thresher_pack(engine(), nullptr, &weights), "matrices is null");
  expect(thresher_duplicate(nullptr, weights_, &weights), "engine is null");
  expect(thresher_duplicate(engine(), nullptr, &weights), "weights is null");
  thresher_plan* plan = nullptr;
  expect(thresher_plan_create(nullptr, &problem_, nullptr, 0, &plan), "engine is null");
  expect(thresher_plan_create(engine(), nullptr, nullptr, 0, &plan), "problem is null");
  thresher_workspace* workspace = workspace_;
  expect(thresher_workspace_create(engine(), nullptr, &workspace), "plan is null");
  EXPECT_EQ(workspace, nullptr);
  expect(thresher_workspace_create(nullptr, plan_, &workspace), "engine is null");
  expect(thresher_check(nullptr, plan_, &operands_), "engine is null");
  expect(thresher_check(engine(), nullptr, &operands_), "plan is null");
  expect(thresher_check(engine(), plan_, nullptr), "operands is null");
  expect(thresher_run(nullptr, plan_, &operands_, workspace_), "engine is null");
  expect(thresher_run(engine(), nullptr, &operands_, workspace_), "plan is null");
  expect(thresher_run(engine(), plan_, nullptr, workspace_), "operands is null");
  expect(thresher_run(engine(), plan_, &operands_, nullptr), "workspace is null");
  thresher_call* call = nullptr;
  expect(thresher_bind(nullptr, plan_, &operands_, workspace_, &call), "engine is null");
  expect(thresher_bind(engine(), nullptr, &operands_, workspace_, &call), "plan is null");
  expect(thresher_bind(engine(), plan_, nullptr, workspace_, &call), "operands is null");
  expect(thresher_bind(engine(), plan_, &operands_, nullptr, &call), "workspace is null");
  operands_.groups = nullptr;
  expect(thresher_check(engine(), plan_, &operands_), "operands.groups is null");
}

TEST_F(CApiErrors, NullForACallOrItsRows) {
  thresher_call* call = nullptr;
  ASSERT_EQ(thresher_bind(engine(), plan_, &operands_, workspace_, &call), THRESHER_OK);
  const OwnedCall owned(call);
  expect(thresher_enqueue(nullptr, nullptr), "call is null");
  expect(thresher_enqueue_rows(nullptr, &operands_.rows, nullptr), "call is null");
  expect(thresher_enqueue_rows(call, nullptr, nullptr), "rows is null");
  operands_.rows.c = nullptr;
  expect(thresher_enqueue_rows(call, &operands_.rows, nullptr), "c is null");
  expect(thresher_synchronize(nullptr), "engine is null");
}

TEST_F(CApiErrors, NullForABuffer) {
  thresher_buffer* buffer = nullptr;
  expect(thresher_buffer_create(nullptr, 1, &buffer), "engine is null");
  ASSERT_EQ(thresher_buffer_create(engine(), 8, &buffer), THRESHER_OK);
  const OwnedBuffer owned(buffer);
  expect(thresher_copy_in(nullptr, c_, 1, 0), "buffer is null");
  expect(thresher_copy_in(buffer, nullptr, 1, 0), "from is null");
  expect(thresher_copy_out(nullptr, c_, 1, 0), "buffer is null");
  expect(thresher_copy_out(buffer, nullptr, 1, 0), "to is null");
  expect(thresher_copy_in(buffer, c_, 8, std::numeric_limits<std::size_t>::max()),
         "a copy in of 8 bytes at offset 18446744073709551615 does not fit a buffer of 8 bytes");
}

TEST_F(CApiErrors, NullForTheHandleOfAQuestion) {
  const auto expect_zero = [](auto answer, const char* message) {
    EXPECT_EQ(answer, decltype(answer){}) << message;
    EXPECT_STREQ(thresher_last_error(), message);
  };
  expect_zero(thresher_engine_device(nullptr), "engine is null");
  expect_zero(thresher_weights_bytes(nullptr), "weights is null");
  expect_zero(thresher_engine_description(nullptr), "engine is null");
  expect_zero(thresher_plan_workspace_bytes(nullptr), "plan is null");
  expect_zero(thresher_thread_count(nullptr), "engine is null");
  expect_zero(thresher_plan_variant(nullptr), "plan is null");
  expect_zero(thresher_variant_count(nullptr), "engine is null");
  expect_zero(thresher_plan_tokens_max(nullptr), "plan is null");
  expect_zero(thresher_variant_name(nullptr, 0), "engine is null");
  expect_zero(thresher_plan_kernel_launch_count(nullptr), "plan is null");
  expect_zero(thresher_buffer_data(nullptr), "buffer is null");
  expect_zero(thresher_plan_graph_launch_count(nullptr), "plan is null");
  expect_zero(thresher_buffer_bytes(nullptr), "buffer is null");
  expect_zero(thresher_plan_kernel_count(nullptr), "plan is null");
  expect_zero(thresher_view(nullptr).codes, "buffer is null");
  expect_zero(thresher_plan_kernel(nullptr, 0).name, "plan is null");
}

TEST_F(CApiErrors, OptionsOfAnEngine) {
  thresher_engine* engine = nullptr;
  const auto refused = [&](const thresher_engine_options& options) {
    const thresher_status status = thresher_engine_create(&options, &engine);
    EXPECT_EQ(engine, nullptr);
    return status;
  };
  expect(refused({.device = "tpu"}), "unknown device 'tpu'; there are cpu, gpu and emulator");
  expect(refused({.device = "gpu:x"}), "device 'gpu:x' is not gpu, or gpu: and a number");
  expect(refused({.thread_count = -1}),
         "thread_count = -1 is not between 0 (one per core) and 1024");
  expect(refused({.compiler_folder_count = 1}), "compiler_folders is null");
  const char* folders[] = {"/somewhere", nullptr};
  expect(refused({.compiler_folders = folders, .compiler_folder_count = 2}),
         "a compiler folder is null");
}

TEST_F(CApiErrors, IndexOfNoVariant) {
  const std::int64_t count = thresher_variant_count(engine());
  EXPECT_EQ(thresher_variant_name(engine(), -1), nullptr);
  EXPECT_EQ(thresher_variant_name(engine(), count), nullptr);
  EXPECT_EQ(thresher_last_error(),
            "index = " + std::to_string(count) + " is not in 0.." + std::to_string(count - 1));
}

TEST_F(CApiErrors, NullForAMatrix) {
  const std::vector<float> values(16 * 64);
  const std::vector<std::uint16_t> halves(16 * 64);
  expect(thresher_quantize(values.data(), 1, nullptr), "out is null");
  expect(thresher_quantize(nullptr, 1, &memory_.buffer), "values is null");
  expect(thresher_quantize_fp16(nullptr, 1, &memory_.buffer), "values is null");
  expect(thresher_quantize_bf16(nullptr, 1, &memory_.buffer), "values is null");
  expect(thresher_dequantize(nullptr, c_), "matrix is null");
  expect(thresher_dequantize(&matrices_.b, nullptr), "values is null");
  expect(thresher_unpack(nullptr, &memory_.buffer), "weights is null");
  expect(thresher_unpack(weights_, nullptr), "out is null");
  memory_.buffer.scales = nullptr;
  expect(thresher_unpack(weights_, &memory_.buffer), "out.scales is null");
  memory_.buffer.codes = nullptr;
  expect(thresher_unpack(weights_, &memory_.buffer), "out.codes is null");
  expect(thresher_quantize(values.data(), 1, &memory_.buffer), "out.codes is null");
}

TEST_F(CApiErrors, MatrixThatCannotBeQuantized) {
  std::vector<float> values(16 * 64);
  values[64 + 3] = NAN;
  expect(thresher_quantize(values.data(), 1, &memory_.buffer),
         "quantize: row 1, column 3: nan cannot be quantised");
  memory_.buffer.k_elements = 40;
  expect(thresher_quantize(values.data(), 1, &memory_.buffer),
         "quantize: k_elements = 40 is not a multiple of 16");
  memory_.buffer.rows = std::numeric_limits<std::int64_t>::max();
  expect(thresher_quantize(values.data(), 1, &memory_.buffer),
         "quantize: rows = 9223372036854775807 is not in 0..16777216");
}

TEST_F(CApiErrors, UnpackIntoAnotherShape) {
  memory_.buffer.rows = 15;
  expect(thresher_unpack(weights_, &memory_.buffer),
         "out is 15 x 64 but the weights are n = 16, k = 64");
  memory_.buffer.rows = 16;
  expect(thresher_unpack_up(weights_, &memory_.buffer),
         "unpack_up: these weights were packed for gemm, not for dual");
}

TEST_F(CApiErrors, EnumsOutOfRange) {
  problem_.op = 2;
  expect_no_plan("problem.op = 2 is not in 0..1");
  problem_.op = 256;  // 0, if somebody cut it to a byte
  expect_no_plan("problem.op = 256 is not in 0..1");
  problem_.op = THRESHER_GEMM;
  problem_.activations = -1;
  expect_no_plan("problem.activations = -1 is not in 0..2");
  problem_.activations = THRESHER_A_NVFP4;
  problem_.output = 3;
  expect_no_plan("problem.output = 3 is not in 0..2");
  thresher_weights* weights = nullptr;
  matrices_.op = -1;
  expect(thresher_pack(engine(), &matrices_, &weights), "matrices.op = -1 is not in 0..1");
  matrices_.op = THRESHER_GEMM;
  matrices_.activations = 3;
  expect(thresher_pack(engine(), &matrices_, &weights), "matrices.activations = 3 is not in 0..2");
}

TEST_F(CApiErrors, MalformedProblem) {
  problem_.groups = nullptr;
  expect_no_plan("problem.groups is null");
  problem_.group_count = 0;
  expect_no_plan("problem 'spoilt': groups = 0 is not in 1..65536");
  problem_.name = nullptr;
  problem_.group_count = std::numeric_limits<std::int64_t>::min();
  expect_no_plan("problem '': groups = -9223372036854775808 is not in 1..65536");
  problem_.groups = &group_;
  problem_.group_count = 1;
  group_.k = 40;
  expect_no_plan("problem '', group 0: k = 40 is not a multiple of 16");
}

TEST_F(CApiErrors, WhatCppRefuses) {
  thresher_plan* plan = nullptr;
  expect(thresher_plan_create(engine(), &problem_, "cpu_portable:roles=split", 0, &plan),
         "variant 'cpu_portable:roles=split' cannot run problem 'spoilt': "
         "roles=split needs decode=panel");
  expect(thresher_plan_create(engine(), &problem_, nullptr, -5, &plan),
         "tokens_max = -5 is negative");
  memory_.scales[4 * 2 + 1] = 0x7f;
  thresher_weights* weights = nullptr;
  expect(thresher_pack(engine(), &matrices_, &weights),
         "b: row 2, block 1: scale code 0x7f is NaN");
  memory_.scales[4 * 1 + 3] = 0x7f;
  expect(thresher_run(engine(), plan_, &operands_, workspace_),
         "group 0: the scale of row 1, block 3 of the activations is NaN");
}

TEST_F(CApiErrors, OperandsThatDoNotFit) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{2}, std::int64_t{-1}}) {
    operands_.group_count = count;
    expect_no_call("group_count = " + std::to_string(count) + " but the plan has 1 groups");
  }
  operands_.group_count = 1;
  own_.weights = nullptr;
  expect_no_call("group 0: weights is null");
  own_.weights = weights_;
  const std::uint32_t counts[] = {2};
  operands_.device_counts = counts;
  operands_.tokens_max = 77;
  expect_no_call("tokens_max = 77 is not between 0 and the 2 that the plan was made for");
  operands_.device_counts = nullptr;
  operands_.tokens_max = 0;
  operands_.rows.c = memory_.codes.data();
  expect(thresher_check(engine(), plan_, &operands_), "c overlaps a");
}

TEST_F(CApiErrors, WorkspaceOfAnotherPlan) {
  group_.m = 400;
  thresher_plan* plan = nullptr;
  ASSERT_EQ(thresher_plan_create(engine(), &problem_, nullptr, 0, &plan), THRESHER_OK);
  const OwnedPlan owned(plan);
  std::vector<float> c(400 * 16);
  const Memory activations(400, 64);
  operands_.rows = {
      .a = activations.codes.data(), .a_scales = activations.scales.data(), .c = c.data()};
  EXPECT_EQ(thresher_run(engine(), plan, &operands_, workspace_), THRESHER_INVALID);
  EXPECT_EQ(std::string(thresher_last_error()).rfind("the workspace has ", 0), 0u);
}

TEST_F(CApiErrors, NoMemoryForAWorkspace) {
  if (kCApiErrorsSanitized)
    GTEST_SKIP() << "the sanitizers' allocators abort instead of returning null";
  // More than an address space holds.
  const std::vector<thresher_group> groups(64, {.m = 65536, .n = 16, .k = kExtentMax});
  problem_ = {.activations = THRESHER_A_BF16, .groups = groups.data(), .group_count = 64};
  thresher_plan* plan = nullptr;
  ASSERT_EQ(thresher_plan_create(engine(), &problem_, nullptr, 0, &plan), THRESHER_OK);
  const OwnedPlan owned(plan);
  thresher_workspace* workspace = workspace_;
  EXPECT_EQ(thresher_workspace_create(engine(), plan, &workspace), THRESHER_OUT_OF_MEMORY);
  EXPECT_EQ(workspace, nullptr);
  EXPECT_EQ(std::string(thresher_last_error()).rfind("cannot allocate ", 0), 0u);
}

// std::bad_alloc, from a vector of floats that a child process has no address space for.
TEST_F(CApiErrors, NoMemoryForAVector) {
  if (kCApiErrorsSanitized) GTEST_SKIP() << "the sanitizers' allocators abort instead of throwing";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto dequantize_too_much = [] {
    const Memory memory(1024, 65536);
    const thresher_nvfp4_view view = thresher_view(&memory.buffer);
    const rlimit limit{.rlim_cur = 256u << 20, .rlim_max = 256u << 20};
    setrlimit(RLIMIT_AS, &limit);
    float value = 0;
    const thresher_status status = thresher_dequantize(&view, &value);
    std::fputs(thresher_last_error(), stderr);
    std::exit(status);
  };
  EXPECT_EXIT(dequantize_too_much(), ::testing::ExitedWithCode(THRESHER_OUT_OF_MEMORY),
              "^out of memory$");
}

TEST_F(CApiErrors, MessagesBelongToTheirThread) {
  expect(thresher_engine_create(nullptr, nullptr), "engine is null");
  std::thread([] {
    EXPECT_STREQ(thresher_last_error(), "");
    EXPECT_EQ(thresher_check(nullptr, nullptr, nullptr), THRESHER_INVALID);
  }).join();
  EXPECT_EQ(thresher_run(engine(), plan_, &operands_, workspace_), THRESHER_OK);
  EXPECT_STREQ(thresher_last_error(), "engine is null") << "a success keeps the message";
}

TEST_F(CApiErrors, MessagesAreCutToTheirBuffer) {
  const std::string variant(5000, 'x');
  thresher_plan* plan = nullptr;
  EXPECT_EQ(thresher_plan_create(engine(), &problem_, variant.c_str(), 0, &plan), THRESHER_INVALID);
  EXPECT_EQ(std::strlen(thresher_last_error()), 1023u);
}

}  // namespace
}  // namespace thresher
