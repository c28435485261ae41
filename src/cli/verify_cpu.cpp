// SPDX-License-Identifier: Apache-2.0
// verify on the CPU: every variant with every thread count.
#include <algorithm>
#include <deque>

#include "assert.hpp"
#include "cli/packed_problem.hpp"
#include "cli/selection.hpp"
#include "cli/verify_backend.hpp"
#include "cli/verify_report.hpp"
#include "cpu/variant.hpp"

namespace thresher::cli {
namespace {

using Engines = std::deque<Engine>;

const Engine& engine_of(const Engines& engines, const Runner& runner) {
  const auto found = std::find_if(engines.begin(), engines.end(), [&](const Engine& engine) {
    return threads_way(engine.thread_count()) == runner.way;
  });
  THRESHER_ASSERT(found != engines.end());
  return *found;
}

class CpuProblem : public VerifiedProblem {
 public:
  CpuProblem(const Engines& engines, const Problem& problem, const Inputs& inputs)
      : engines_(engines), problem_(problem), packed_(engines.front(), problem, inputs) {}

  void run(const Runner& runner, const GuardedOutputs& outputs) override {
    const Engine& engine = engine_of(engines_, runner);
    const Plan plan = engine.plan(problem_, runner.variant);
    Workspace workspace(plan);
    engine.run(plan, packed_.operands(outputs), workspace);
  }

 private:
  const Engines& engines_;
  const Problem& problem_;
  PackedProblem packed_;
};

// "cpu_avx2" of "cpu_avx2:stages=0".
std::string_view body_of(std::string_view variant) { return variant.substr(0, variant.find(':')); }

// Every variant of the body that the engine prefers, and the default of every other body.
std::vector<std::string> quick_variants(const std::vector<std::string>& variants) {
  std::vector<std::string> quick;
  for (const std::string& variant : variants) {
    const std::string_view body = body_of(variant);
    if (body == body_of(variants.front()) || body == variant) quick.push_back(variant);
  }
  return quick;
}

// The same variant with other thread counts; for NVFP4 activations every variant whose body sums
// exact integers in the same order, which is all of them but AMX's.
std::string twin_set(const Problem& problem, const std::string& variant) {
  const bool is_integer = problem.activations == Activations::kNvfp4 &&
                          cpu::variant_from_name(variant).isa != cpu::Isa::kAmx;
  return is_integer ? "integer" : variant;
}

class VerifyCpu : public VerifyBackend {
 public:
  explicit VerifyCpu(const std::vector<int>& thread_counts) {
    for (const int count : distinct(thread_counts)) engines_.emplace_back(EngineOptions{count});
  }

  Backend backend() const override { return Backend::kCpu; }

  std::vector<std::string> variants(bool quick) const override {
    std::vector<std::string> all = engines_.front().variants();
    return quick ? quick_variants(all) : all;
  }

  std::string choice(const Problem& problem) const override {
    return engines_.front().plan(problem).variant();
  }

  void check_variant(const std::string& variant) const override { cpu::variant_from_name(variant); }

  std::vector<Runner> runners(const Problem& problem, InputFamily,
                              const std::string& variant) const override {
    std::vector<Runner> runners;
    for (const Engine& engine : engines_) {
      runners.push_back({.variant = variant,
                         .way = threads_way(engine.thread_count()),
                         .twin_set = twin_set(problem, variant)});
    }
    return runners;
  }

  Support supports(const Problem& problem, const Runner& runner) const override {
    return engine_of(engines_, runner).supports(problem, runner.variant);
  }

  std::unique_ptr<VerifiedProblem> prepare(const Problem& problem,
                                           const Inputs& inputs) const override {
    return std::make_unique<CpuProblem>(engines_, problem, inputs);
  }

 private:
  Engines engines_;
};

}  // namespace

std::unique_ptr<VerifyBackend> make_verify_cpu(const std::vector<int>& thread_counts) {
  return std::make_unique<VerifyCpu>(thread_counts);
}

}  // namespace thresher::cli
