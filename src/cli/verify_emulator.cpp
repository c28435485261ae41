// SPDX-License-Identifier: Apache-2.0
// verify on the emulator: the GPU's kernels on the CPU, each with two orders of events.
#include <fmt/format.h>

#include <algorithm>

#include "cli/verify_backend.hpp"
#include "cpu/features.hpp"
#include "emulated/emulated_engine.hpp"
#include "gpu/sm90/variant.hpp"

namespace thresher::cli {
namespace {

constexpr int kOrderCount = 2;
// Thousands of stacks each, and a process may map only so many pieces of memory.
constexpr int kCasesAtATimeMax = 8;

class Emulated : public VerifiedProblem {
 public:
  Emulated(const emulated::EmulatedEngine& engine, const Problem& problem, const Inputs& inputs)
      : engine_(engine), problem_(problem), inputs_(inputs) {
    for (const GroupInputs& group : inputs.groups) {
      weights_.push_back(
          problem.op == Op::kDual
              ? emulated::pack_dual(group.b.view(), group.b_up.view(), problem.activations)
              : emulated::pack(group.b.view(), problem.activations));
    }
  }

  void run(const Runner& runner, const GuardedOutputs& outputs) override {
    std::vector<emulated::HostOperands> operands;
    for (std::size_t g = 0; g < weights_.size(); ++g) {
      const GroupInputs& group = inputs_.groups[g];
      operands.push_back({.a = group.a.view(),
                          .a16 = group.a16.data(),
                          .weights = &weights_[g],
                          .c = outputs.c(g),
                          .c_stride_elements = outputs.stride_elements(g),
                          .alpha = group.alpha,
                          .alpha_up = group.alpha_up});
    }
    engine_.run(problem_, runner.variant, operands, named_seed(1, runner.way));
  }

 private:
  const emulated::EmulatedEngine& engine_;
  const Problem& problem_;
  const Inputs& inputs_;
  std::vector<emulated::PackedWeights> weights_;
};

class VerifyEmulator : public VerifyBackend {
 public:
  Backend backend() const override { return Backend::kEmulator; }
  std::size_t cases_at_a_time() const override {
    return static_cast<std::size_t>(std::min(cpu::usable_core_count(), kCasesAtATimeMax));
  }

  // Of the quick ones each knob is one of its own, so there are no fewer.
  std::vector<std::string> variants(bool) const override { return engine_.variants(); }
  std::string choice(const Problem&) const override { return {}; }
  void check_variant(const std::string& variant) const override {
    gpu::sm90::variant_from_name(variant);
  }

  std::vector<Runner> runners(const Problem&, InputFamily,
                              const std::string& variant) const override {
    std::vector<Runner> runners;
    for (int i = 1; i <= kOrderCount; ++i) {
      runners.push_back(
          {.variant = variant, .way = fmt::format("order of events {}", i), .twin_set = variant});
    }
    return runners;
  }

  Support supports(const Problem& problem, const Runner& runner) const override {
    return engine_.supports(problem, runner.variant);
  }

  std::unique_ptr<VerifiedProblem> prepare(const Problem& problem,
                                           const Inputs& inputs) const override {
    return std::make_unique<Emulated>(engine_, problem, inputs);
  }

 private:
  emulated::EmulatedEngine engine_;
};

}  // namespace

std::unique_ptr<VerifyBackend> make_verify_emulator() { return std::make_unique<VerifyEmulator>(); }

}  // namespace thresher::cli
