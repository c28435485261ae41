// SPDX-License-Identifier: Apache-2.0
// What the engine says when it cannot be created, cannot pack or cannot plan. operands_test.cpp has
// the errors of check() and run(), cpu/variant_test.cpp every reason why a variant cannot run.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "cpu/variant.hpp"
#include "nvfp4/error_message.hpp"
#include "support/on_devices.hpp"
#include "support/scene.hpp"
#include "thresher/engine.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using testing::make_problem;
using testing::OnDevice;

#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
constexpr bool kErrorsSanitized = true;
#else
constexpr bool kErrorsSanitized = false;
#endif

TEST(EngineErrors, ThreadCountOutOfRange) {
  EXPECT_EQ(error_message([] { Engine({.thread_count = -1}); }),
            "thread_count = -1 is not between 0 (one per core) and 1024");
  EXPECT_EQ(error_message([] { Engine({.thread_count = 1025}); }),
            "thread_count = 1025 is not between 0 (one per core) and 1024");
  EXPECT_GE(Engine().thread_count(), 1);
}

// Starts more threads than the address space has room for stacks, in a child process.
TEST(EngineErrors, ThreadsThatTheSystemRefuses) {
  if (kErrorsSanitized)
    GTEST_SKIP() << "shadow memory needs the address space that this test takes away";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto start_too_many = [] {
    const rlimit limit{.rlim_cur = 512u << 20, .rlim_max = 512u << 20};
    setrlimit(RLIMIT_AS, &limit);
    std::fputs(error_message([] { Engine({.thread_count = 1024}); }).c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(start_too_many(), ::testing::ExitedWithCode(0),
              "^only [0-9]+ of 1024 threads could be started: ");
}

TEST(EngineErrors, DeviceThatThereIsNot) {
  const std::string known = "there are cpu, gpu and emulator";
  for (const char* device : {"tpu", "", "cpu:1", "CPU", "gpux", ":0"}) {
    const std::string expected = "unknown device '" + std::string(device) + "'; " + known;
    EXPECT_EQ(error_message([&] { Engine({.device = device}); }), expected);
    EXPECT_EQ(error_message([&] { why_no_device({.device = device}); }), expected);
  }
  const std::string none =
      "there is no device 'emulator:0'; the emulator has emulator:sm90, emulator:sm80, "
      "emulator:sm100 and emulator:sm100_in_order";
  EXPECT_EQ(error_message([] { Engine({.device = "emulator:0"}); }), none);
  EXPECT_EQ(why_no_device({.device = "emulator:0"}), none);
  for (const char* device : {"gpu:x", "gpu:", "gpu:-1", "gpu:1x", "gpu:99999999999"}) {
    const std::string expected =
        "device '" + std::string(device) + "' is not gpu, or gpu: and a number";
    EXPECT_EQ(error_message([&] { Engine({.device = device}); }), expected);
  }
}

TEST(EngineErrors, GpuThatThisMachineLacks) {
  EXPECT_EQ(why_no_device({}), "");
  EXPECT_EQ(why_no_device({.device = "emulator"}), "");
  const std::string why = why_no_device({.device = "gpu:1000"});
  EXPECT_NE(why, "");
  EXPECT_EQ(error_message([] { Engine({.device = "gpu:1000"}); }), why);
}

class PackErrors : public OnDevice {
 protected:
  std::string complaint() const {
    return error_message([&] { engine().pack({.b = view_}); });
  }
  std::string complaint_of_dual(const Nvfp4View& gate, const Nvfp4View& up) const {
    return error_message([&] { engine().pack({.op = Op::kDual, .b = gate, .up = up}); });
  }

  Nvfp4Matrix matrix_ = make_inputs(make_problem({1}, 5, 48), InputFamily::kNatural, 1).groups[0].b;
  Nvfp4View view_ = matrix_.view();
};
ON_DEVICES(PackErrors);

TEST_P(PackErrors, NullPointers) {
  view_.codes = nullptr;
  EXPECT_EQ(complaint(), "b: codes is null");
  view_ = matrix_.view();
  view_.scales = nullptr;
  EXPECT_EQ(complaint(), "b: scales is null");
}

TEST_P(PackErrors, Extents) {
  view_.k_elements = 40;
  EXPECT_EQ(complaint(), "b: k_elements = 40 is not a multiple of 16");
  view_.k_elements = 0;
  EXPECT_EQ(complaint(), "b: k_elements = 0 is not in 16..16777216");
  view_.k_elements = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(complaint(), "b: k_elements = 9223372036854775807 is not in 16..16777216");
  view_ = matrix_.view();
  view_.rows = -1;
  EXPECT_EQ(complaint(), "b: rows = -1 is not in 0..16777216");
  view_.rows = view_.k_elements = kExtentMax;
  EXPECT_EQ(complaint(),
            "b: 16777216 x 16777216 = 281474976710656 elements are more than 1099511627776");
}

TEST_P(PackErrors, NanScale) {
  matrix_.scales[3 * 3 + 2] = 0xff;
  EXPECT_EQ(complaint(), "b: row 3, block 2: scale code 0xff is NaN");
}

TEST_P(PackErrors, GlobalScaleThatIsNotFinite) {
  view_.global_scale = std::numeric_limits<float>::infinity();
  EXPECT_EQ(complaint(), "b: global_scale = inf is not finite");
}

TEST_P(PackErrors, DualNamesTheMatrix) {
  const Nvfp4View good = matrix_.view();
  view_.codes = nullptr;
  EXPECT_EQ(complaint_of_dual(view_, good), "gate: codes is null");
  EXPECT_EQ(complaint_of_dual(good, view_), "up: codes is null");
}

TEST_P(PackErrors, DualShapesDiffer) {
  const Nvfp4View good = matrix_.view();
  view_.rows = 4;
  EXPECT_EQ(complaint_of_dual(good, view_), "gate is 5 x 48 but up is 4 x 48");
  view_ = good;
  view_.k_elements = 32;
  EXPECT_EQ(complaint_of_dual(view_, good), "gate is 5 x 32 but up is 5 x 48");
}

TEST_P(PackErrors, GemmWeightsHaveNoUp) {
  const Weights weights = engine().pack({.b = view_});
  EXPECT_EQ(error_message([&] { weights.unpack_up(); }),
            "unpack_up: these weights were packed for gemm, not for dual");
}

class PlanErrors : public ::testing::Test {
 protected:
  std::string complaint(std::string_view variant = {}) const {
    return error_message([&] { engine_.plan(problem_, variant); });
  }
  std::string why_not(std::string_view variant) const {
    return engine_.supports(problem_, variant).why_not;
  }

  const Engine engine_ = Engine({.thread_count = 1});
  Problem problem_ = make_problem({3, 2}, 17, 64);
};

TEST_F(PlanErrors, MalformedProblem) {
  problem_.groups[1].k = 40;
  EXPECT_EQ(complaint(), "problem 'scene', group 1: k = 40 is not a multiple of 16");
  EXPECT_EQ(error_message([&] { engine_.supports(problem_, "cpu_portable"); }), complaint());
  problem_.groups[1] = {.m = -1, .n = 17, .k = 64};
  EXPECT_EQ(complaint(), "problem 'scene', group 1: m = -1 is not in 0..16777216");
  problem_.groups[1] = {.m = 1, .n = 0, .k = 64};
  EXPECT_EQ(complaint(), "problem 'scene', group 1: n = 0 is not in 1..16777216");
  problem_.groups[1] = {.m = kExtentMax, .n = 1, .k = kExtentMax};
  EXPECT_EQ(
      complaint(),
      "problem 'scene', group 1: A has 16777216 x 16777216 elements, more than 1099511627776");
  problem_.groups.clear();
  EXPECT_EQ(complaint(), "problem 'scene': groups = 0 is not in 1..65536");
}

TEST_F(PlanErrors, EnumWithoutAWord) {
  problem_.op = static_cast<Op>(2);
  EXPECT_EQ(complaint(), "problem 'scene': op = 2 is not in 0..1");
}

TEST_F(PlanErrors, UnknownVariant) {
  const std::string known =
      "variants begin with one of cpu_portable, cpu_avx2, cpu_avx512, cpu_avx512vnni, cpu_amx";
  for (const char* variant : {"gpu_hopper", "cpu_", "cpu_avx3", "avx2", ":"}) {
    const std::string expected = "unknown variant '" + std::string(variant) + "'; " + known;
    EXPECT_EQ(complaint(variant), expected);
    EXPECT_EQ(error_message([&] { engine_.supports(problem_, variant); }), expected);
  }
}

TEST_F(PlanErrors, UnknownKnobOrValue) {
  const std::string knobs =
      "knobs are decode, tile, chunk, stages, task, schedule, dual, store, roles";
  EXPECT_EQ(complaint("cpu_portable:colour=red"),
            "variant 'cpu_portable:colour=red': unknown knob 'colour'; " + knobs);
  EXPECT_EQ(complaint("cpu_portable:stages"),
            "variant 'cpu_portable:stages': 'stages' is not of the form knob=value; " + knobs);
  EXPECT_EQ(complaint("cpu_portable:stages=65"),
            "variant 'cpu_portable:stages=65': stages = '65' is not 0 to 64");
  EXPECT_EQ(complaint("cpu_portable:stages=1,store=fast"),
            "variant 'cpu_portable:stages=1,store=fast': store = 'fast' is not plain or streaming");
}

TEST_F(PlanErrors, VariantThatCannotRunTheProblem) {
  EXPECT_EQ(complaint("cpu_portable:roles=split"),
            "variant 'cpu_portable:roles=split' cannot run problem 'scene': "
            "roles=split needs decode=panel");
  EXPECT_EQ(why_not("cpu_portable:roles=split"), "roles=split needs decode=panel");
  EXPECT_EQ(why_not("cpu_portable:decode=panel"),
            "portable has no decoded panels for nvfp4 activations");
}

TEST_F(PlanErrors, TokensThatOnlyADeviceKnows) {
  EXPECT_EQ(error_message([&] { engine_.plan(problem_, {}, -1); }), "tokens_max = -1 is negative");
  const Engine emulator({.device = "emulator"});
  EXPECT_EQ(error_message([&] { emulator.plan(problem_, "gpu_sm90", std::int64_t{1} << 32); }),
            "variant 'gpu_sm90' cannot run problem 'scene': 4294967296 tokens are not between 0 "
            "and 2^31");
}

TEST_F(PlanErrors, InstructionSetThatThisCpuLacks) {
  int lacking_count = 0;
  for (const cpu::Isa isa : cpu::kAllIsas) {
    if (cpu::can_run(isa)) continue;
    ++lacking_count;
    const std::string variant = name(cpu::default_variant(isa));
    EXPECT_TRUE(why_not(variant).starts_with("this CPU lacks ")) << variant;
  }
  if (lacking_count == 0) GTEST_SKIP() << "this CPU has every instruction set";
}

// 65536 groups of 2^24 rows pass check(Problem); listing their tasks would fill any memory.
TEST_F(PlanErrors, MoreTasksThanCanBeListed) {
  problem_.groups.assign(kGroupCountMax, {.m = kExtentMax, .n = 65536, .k = 16});
  EXPECT_EQ(why_not("cpu_portable:tile=1x16,task=1x32"),
            "it would cut the problem into 2252899325313024 tiles and tasks, more than 33554432");
  EXPECT_TRUE(complaint().starts_with("variant 'cpu_")) << complaint();
}

// 64 groups of 2^40 activations, kept as floats: more than the 2^47 bytes of an address space.
TEST_F(PlanErrors, WorkspaceThatNoMachineHas) {
  if (kErrorsSanitized)
    GTEST_SKIP() << "the sanitizers' allocators abort instead of returning null";
  problem_.activations = Activations::kBf16;
  problem_.groups.assign(256, {.m = 65536, .n = 16, .k = kExtentMax});
  const Plan plan = engine_.plan(problem_);
  EXPECT_GT(plan.workspace_bytes(), std::size_t{1} << 48);
  EXPECT_EQ(error_message([&] { engine_.workspace(plan); }),
            "cannot allocate " + std::to_string(plan.workspace_bytes()) + " bytes of memory");
}

}  // namespace
}  // namespace thresher
