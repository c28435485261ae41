// SPDX-License-Identifier: Apache-2.0
// One engine, many callers. What a caller computes does not depend on the others; the thread
// sanitizer watches these tests for races.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/scene.hpp"
#include "thresher/engine.hpp"

namespace thresher {
namespace {

using testing::make_problem;
using testing::Scene;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kConcurrencySeed = 20260403;
constexpr std::size_t kCallerCount = 6;
constexpr int kRepeatCount = 5;

// One for each caller, all different, so that a mix-up cannot go unseen.
Problem problem_of_caller(std::size_t caller) {
  const std::int64_t rows = 1 + 7 * static_cast<std::int64_t>(caller);
  const Op op = caller % 2 == 0 ? Op::kGemm : Op::kDual;
  const Activations activations = caller % 3 == 0 ? Activations::kBf16 : Activations::kNvfp4;
  return make_problem({rows, 0, 3}, 33 + rows, 80 + 16 * rows, op, activations);
}

Bytes alone(const Problem& problem, std::uint64_t seed, std::string_view variant) {
  const Engine engine({.thread_count = 1});
  Scene scene(engine, problem, InputFamily::kNatural, seed);
  scene.run(engine, variant);
  return scene.output_bytes();
}

void on_callers(const std::function<void(std::size_t)>& call) {
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < kCallerCount; ++i) callers.emplace_back(call, i);
  for (std::thread& caller : callers) caller.join();
}

TEST(Concurrency, CallersPackPlanAndRunOnOneEngine) {
  const Engine engine({.thread_count = 3});
  const std::string variant = engine.variants().front();
  std::vector<std::vector<Bytes>> results(kCallerCount);
  on_callers([&](std::size_t caller) {
    for (int repeat = 0; repeat < kRepeatCount; ++repeat) {
      Scene scene(engine, problem_of_caller(caller), InputFamily::kNatural,
                  kConcurrencySeed + caller);
      scene.run(engine, variant);
      results[caller].push_back(scene.output_bytes());
    }
  });
  for (std::size_t caller = 0; caller < kCallerCount; ++caller) {
    const Bytes expected = alone(problem_of_caller(caller), kConcurrencySeed + caller, variant);
    for (const Bytes& result : results[caller]) {
      EXPECT_EQ(result, expected) << "caller " << caller << ", seed " << kConcurrencySeed + caller;
    }
  }
}

// Plans and weights are immutable: callers share them and bring activations and workspaces of their
// own. Knobs change how work is handed to the pool, and no bit of the result.
TEST(Concurrency, CallersShareAPlanAndWeights) {
  const Engine engine({.thread_count = 4});
  const Problem problem = make_problem({9, 0, 37, 1}, 70, 208);
  Scene owner(engine, problem, InputFamily::kNatural, kConcurrencySeed);
  for (const std::string& variant : engine.variants()) {
    if (!engine.supports(problem, variant).ok) continue;
    const Plan plan = engine.plan(problem, variant);
    std::vector<Bytes> results(kCallerCount);
    on_callers([&](std::size_t caller) {
      Scene scene(engine, problem, InputFamily::kNatural, kConcurrencySeed);
      for (std::size_t g = 0; g < problem.groups.size(); ++g) {
        scene.groups()[g].weights = owner.groups()[g].weights;
      }
      const Workspace workspace = engine.workspace(plan);
      for (int repeat = 0; repeat < kRepeatCount; ++repeat) {
        scene.poison();
        engine.check(plan, scene.operands());
        engine.run(plan, scene.operands(), workspace);
      }
      results[caller] = scene.output_bytes();
    });
    const Bytes expected = alone(problem, kConcurrencySeed, variant.substr(0, variant.find(':')));
    for (const Bytes& result : results) EXPECT_EQ(result, expected) << variant;
  }
}

// A call that fails must give its turn back.
TEST(Concurrency, AFailedRunDoesNotBlockTheOthers) {
  const Engine engine({.thread_count = 2});
  const Problem problem = make_problem({5}, 33, 64);
  const Bytes expected = alone(problem, kConcurrencySeed, "cpu_portable");
  on_callers([&](std::size_t caller) {
    Scene scene(engine, problem, InputFamily::kNatural, kConcurrencySeed);
    Bytes scales = scene.inputs().groups[0].a.scales;
    if (caller % 2 == 0) {
      scales[7] = 0x7f;
      scene.groups()[0].rows.a_scales = scales.data();
      EXPECT_THROW(scene.run(engine, "cpu_portable"), Error);
    } else {
      scene.run(engine, "cpu_portable");
      EXPECT_EQ(scene.output_bytes(), expected);
    }
  });
}

// The emulator has no pool: calls of one engine run side by side, each on the thread that makes it.
TEST(Concurrency, CallersRunOnOneEmulator) {
  const Engine engine({.device = "emulator"});
  on_callers([&](std::size_t caller) {
    const auto rows = static_cast<std::int64_t>(1 + caller);
    Scene scene(engine, make_problem({rows, 0, 3}, 33 + rows, 80), InputFamily::kExact,
                kConcurrencySeed + caller);
    scene.run(engine);
    EXPECT_EQ(scene.why_wrong(), "") << "caller " << caller;
  });
}

TEST(Concurrency, EnginesWorkSideBySide) {
  const Problem problem = make_problem({19, 2}, 50, 144);
  std::vector<Bytes> results(kCallerCount);
  on_callers([&](std::size_t caller) {
    const Engine engine({.thread_count = 1 + static_cast<int>(caller % 3)});
    Scene scene(engine, problem, InputFamily::kNatural, kConcurrencySeed);
    scene.run(engine, "cpu_portable");
    results[caller] = scene.output_bytes();
  });
  const Bytes expected = alone(problem, kConcurrencySeed, "cpu_portable");
  for (const Bytes& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace thresher
