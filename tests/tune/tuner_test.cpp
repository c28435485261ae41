// SPDX-License-Identifier: Apache-2.0
// The CPU as a device that compiles: whoever races was prepared first, and beside the races.
#include "tune/tuner.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "cpu/backend.hpp"
#include "thresher/error.hpp"

namespace thresher::tune {
namespace {

// What was asked of a device, by whom.
struct CompilerLog {
  std::mutex mutex;
  std::multiset<std::string> prepared;
  std::multiset<std::string> planned;
  std::set<std::string> planned_unprepared;
  std::set<std::thread::id> threads;  // that prepared
};

const Backend& compiling_row() {
  static const Backend row = [] {
    Backend compiling = cpu::cpu_backend();
    compiling.plans_ahead = 8;
    return compiling;
  }();
  return row;
}

// Variants with that in their names do not compile.
constexpr const char* kBroken = "store=streaming";

class CompilingDevice final : public backend::Device {
 public:
  explicit CompilingDevice(CompilerLog& log)
      : Device(compiling_row(), "cpu"),
        log_(log),
        cpu_(cpu::cpu_backend().open({.thread_count = 1})) {}

  std::string description() const override { return cpu_->description(); }
  const Machine& machine() const override { return cpu_->machine(); }
  backend::Ceilings measure_ceilings(double seconds) const override {
    return cpu_->measure_ceilings(seconds);
  }
  std::unique_ptr<backend::Buffer> allocate(std::size_t bytes) const override {
    return cpu_->allocate(bytes);
  }
  std::shared_ptr<backend::Weights> pack(const WeightMatrices& matrices) const override {
    return cpu_->pack(matrices);
  }
  std::shared_ptr<backend::Weights> duplicate(const backend::Weights& weights) const override {
    return cpu_->duplicate(weights);
  }
  std::size_t activation_alignment(Activations activations) const override {
    return cpu_->activation_alignment(activations);
  }
  std::shared_ptr<backend::Plan> plan(const Problem& problem, std::string_view variant,
                                      std::int64_t tokens_max) const override {
    {
      const std::lock_guard lock(log_.mutex);
      log_.planned.emplace(variant);
      if (!log_.prepared.contains(std::string(variant))) log_.planned_unprepared.emplace(variant);
    }
    refuse_broken(variant);
    return cpu_->plan(problem, variant, tokens_max);
  }
  void prepare(const Problem&, std::string_view variant, std::int64_t) const override {
    {
      const std::lock_guard lock(log_.mutex);
      log_.prepared.emplace(variant);
      log_.threads.insert(std::this_thread::get_id());
    }
    refuse_broken(variant);
  }
  std::unique_ptr<backend::LayerSteps> layer_steps(
      const backend::LayerShape& shape, const backend::LayerMemory& memory) const override {
    return cpu_->layer_steps(shape, memory);
  }
  std::unique_ptr<backend::Call> bind(std::shared_ptr<const backend::Plan> plan,
                                      const Operands& operands,
                                      const backend::Buffer& workspace) const override {
    return cpu_->bind(std::move(plan), operands, workspace);
  }

 private:
  static void refuse_broken(std::string_view variant) {
    if (variant.find(kBroken) != std::string_view::npos) throw Error("it does not compile");
  }

  CompilerLog& log_;
  const std::unique_ptr<backend::Device> cpu_;
};

const Problem kSmall{.name = "small", .groups = {{.m = 4, .n = 64, .k = 128}}};

// Few enough to race them all, broken ones among them.
TuneOptions few_variants(const Engine& engine) {
  TuneOptions options{.rates = engine.state().measure_ceilings(0.01).rates};
  options.allows = [count = std::make_shared<std::map<bool, int>>()](const std::string& variant) {
    return (*count)[variant.find(kBroken) != std::string::npos]++ % 200 == 0;
  };
  return options;
}

TEST(Tuner, PreparesWhoeverRacesOnceAndOnOtherThreads) {
  CompilerLog log;
  const Engine engine(std::make_unique<CompilingDevice>(log));
  const Sweep swept = sweep(engine, kSmall, few_variants(engine));
  ASSERT_GT(swept.space.names.size(), 5U);
  const std::string choice = engine.choose(kSmall);
  EXPECT_LE(log.planned_unprepared, std::set<std::string>({choice}))
      << "only the choice is compiled when it enters";
  for (const std::string& variant : swept.space.names) {
    EXPECT_TRUE(variant == choice || log.prepared.contains(variant)) << variant;
  }
  EXPECT_FALSE(log.threads.contains(std::this_thread::get_id()));
}

TEST(Tuner, WhatDoesNotCompileDoesNotRunAndOthersDo) {
  CompilerLog log;
  const Engine engine(std::make_unique<CompilingDevice>(log));
  int broken_count = 0;
  for (const Trial& trial : sweep(engine, kSmall, few_variants(engine)).state.trials) {
    const bool broken = trial.variant.find(kBroken) != std::string::npos;
    broken_count += broken ? 1 : 0;
    EXPECT_EQ(trial.speedup == 0, broken) << trial.variant;
  }
  EXPECT_GT(broken_count, 0);
}

TEST(Tuner, AShamCompilesTheChoiceAlone) {
  CompilerLog log;
  const Engine engine(std::make_unique<CompilingDevice>(log));
  TuneOptions options = few_variants(engine);
  options.sham = true;
  sweep(engine, kSmall, options);
  EXPECT_TRUE(log.prepared.empty());
  const std::string choice = engine.choose(kSmall);
  EXPECT_EQ(log.planned.count(choice), log.planned.size());
}

// Two heats never make sure of anything under these terms, whatever the machine does meanwhile;
// more of them are played after these.
TEST(Tuner, PlaysAnOpenMatchOn) {
  const Engine engine({.thread_count = 1});
  TuneOptions options{.terms = {.speedup_min = 0.1, .confidence = 0.9999}, .sham = true};
  options.match = {.thread_count = 1,
                   .blocks_per_problem = 1,
                   .analysis = {.heats_min = 2, .heats_max = 2},
                   .program = THRESHER_BINARY_DIR "/thresher"};
  Catch found{.state = {.choice = engine.choose(kSmall), .variant = "cpu_portable"},
              .ruling = {.open = OpenMatch{}}};
  // Two heats may also meet a moment in which the controls contradict, and the match is void.
  const auto play_open = [&] {
    Ruling ruling;
    for (int i = 0; i < 10 && !ruling.open; ++i) ruling = play_on(kSmall, found, 100, options);
    return ruling;
  };
  found.ruling = play_open();
  ASSERT_TRUE(found.ruling.open) << found.ruling.reason;
  const std::vector<HeatSamples> before = found.ruling.open->samples.heats;
  ASSERT_EQ(before.size(), 2U) << found.ruling.reason;
  found.ruling = play_open();
  EXPECT_FALSE(found.ruling.accepted) << "equal is not better";
  ASSERT_TRUE(found.ruling.open) << found.ruling.reason;
  const std::vector<HeatSamples>& after = found.ruling.open->samples.heats;
  ASSERT_EQ(after.size(), 4U);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].match[0].a_ns[0], before[i].match[0].a_ns[0]);
  }
}

}  // namespace
}  // namespace thresher::tune
