// SPDX-License-Identifier: Apache-2.0
// Kernels that misbehave: what they did and in which launch reaches the caller as an Error.
#include "emulated/device_call.hpp"

#include <gtest/gtest.h>

#include "emulated/instantiate.hpp"
#include "support/scene.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated::testing {
namespace {

using thresher::testing::make_problem;
using thresher::testing::Scene;

constexpr gpu::GemmKnobs kKnobs{.tokens = 16, .split_k = 2, .launches = gpu::Launches::kStreams};

// Two groups, so two launches, with `kernel` in the place of the GEMM.
std::string message_of(KernelSet::Gemm kernel, const gpu::GemmKnobs& knobs = kKnobs) {
  const Scene scene(Engine({.device = "emulator"}), make_problem({4, 5}, 64, 144));
  const Problem& problem = scene.problem();
  const gpu::GemmPlan plan =
      gpu::make_plan(knobs, {.problem = problem, .token_limit = 9, .limits = kFewSms});
  KernelSet kernels;
  kernels.add(plan.launches[0].kind, plan.launches[0].config, kernel);
  add_kernels<kKnobs, Op::kGemm, gpu::ActivationType::kNvfp4, gpu::OutputType::kFp32>(kernels);
  DeviceCall call(problem, scene.operands(), /*tokens_max=*/9);
  try {
    call.run(plan, kernels, CallMemory(plan), {.launches = kKnobs.launches});
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

void expect_part(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(DeviceCall, Deadlock) {
  const std::string message = message_of([](const gpu::GemmArgs&) {
    if (gpu::hw::thread_index() < 128) gpu::hw::sync_named(1, 256);
  });
  expect_part(message, "GEMM launch 1 of 2: ");
  expect_part(message, "deadlock");
}

TEST(DeviceCall, InputsAreReadOnly) {
  const std::string message = message_of([](const gpu::GemmArgs& args) {
    if (args.first_group == 0) return;
    gpu::hw::store_global(const_cast<gpu::u32*>(args.table.token_counts), 0u);
  });
  expect_part(message, "GEMM launch 2 of 2: ");
  expect_part(message, "read-only: token counts (8 bytes)");
}

TEST(DeviceCall, NothingBeyondTheLastElementOfC) {
  const std::string message = message_of([](const gpu::GemmArgs& args) {
    const auto& entry = args.table.entries[0];
    const gpu::u64 end = entry.c + (3 * entry.c_stride_elements + entry.n) * 4;
    gpu::hw::store_global(reinterpret_cast<gpu::u32*>(end), 0u);
  });
  expect_part(message, "bytes from the start of C (");
}

TEST(DeviceCall, CountersMustBeZeroAgain) {
  EXPECT_EQ(message_of([](const gpu::GemmArgs& args) {
              const bool first = args.first_group == 0 && gpu::hw::block_index() == 0;
              if (first && gpu::hw::thread_index() == 0) gpu::hw::store_global(args.counters, 1u);
            }),
            "the launches leave a counter that is not zero, as the next call needs it to be");
}

// Groups on streams of their own know nothing of each other, but all of what came before them.
TEST(DeviceCall, StreamsRunSideBySide) {
  const std::string message = message_of([](const gpu::GemmArgs& args) {
    if (gpu::hw::block_index() != 0 || gpu::hw::thread_index() != 0) return;
    gpu::hw::load_global(args.images);
    gpu::hw::atomic_add(args.counters + 1, 1);
  });
  expect_part(message, "GEMM launch 2 of 2: ");
  expect_part(message,
              "(counters + 4), which thread 0 of block 0 of the launch before wrote: that "
              "one runs beside it, on another stream");
}

// Without a prologue nothing comes before the first of them.
TEST(DeviceCall, WithoutAPrologueTheFirstGroupIsNoOneElses) {
  gpu::GemmKnobs knobs = gpu::default_knobs(gpu::Mma::kWarp);
  knobs.launches = kKnobs.launches;
  ASSERT_EQ(knobs.prologue, gpu::Prologue::kNone);
  const std::string message = message_of(
      [](const gpu::GemmArgs& args) {
        if (gpu::hw::block_index() != 0 || gpu::hw::thread_index() != 0) return;
        auto* const c = reinterpret_cast<gpu::u32*>(args.table.entries[0].c);
        if (args.first_group == 0) gpu::hw::store_global(c, 1u);
        if (args.first_group == 1) gpu::hw::load_global(c);
      },
      knobs);
  expect_part(message, "GEMM launch 2 of 2: ");
  expect_part(message, "that one runs beside it, on another stream");
}

TEST(DeviceCall, KernelsThatAreNotThere) {
  const Scene scene(Engine({.device = "emulator"}), make_problem({4}, 64, 64));
  const Problem& problem = scene.problem();
  const gpu::GemmPlan plan =
      gpu::make_plan(kKnobs, {.problem = problem, .token_limit = 4, .limits = kFewSms});
  DeviceCall call(problem, scene.operands(), /*tokens_max=*/4);
  EXPECT_FALSE(KernelSet().has(plan));
  EXPECT_THROW(call.run(plan, KernelSet(), CallMemory(plan), {}), Error);
}

}  // namespace
}  // namespace thresher::emulated::testing
