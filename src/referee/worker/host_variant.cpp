// SPDX-License-Identifier: Apache-2.0
// A variant of our own engine, entered like anybody else: in a sandboxed process, through the
// protocol.
#include "referee/worker/host.hpp"
#include "thresher/engine.hpp"

namespace thresher::referee {
namespace {

class PreparedVariant : public Prepared {
 public:
  PreparedVariant(const Engine& engine, const Problem& problem, const std::string& variant,
                  std::span<const HostedWeights> weights)
      : engine_(engine), plan_(engine.plan(problem, variant)), workspace_(plan_) {
    for (const HostedWeights& one : weights) {
      weights_.push_back(problem.op == Op::kDual ? engine.pack_dual(one.b, one.b_up)
                                                 : engine.pack(one.b));
    }
    operands_.resize(weights_.size());
    for (std::size_t g = 0; g < weights_.size(); ++g) operands_[g].weights = &weights_[g];
  }

  void run(std::span<const HostedCall> calls) override {
    for (std::size_t g = 0; g < calls.size(); ++g) {
      const HostedCall& call = calls[g];
      operands_[g] = {.a = call.a,
                      .a16 = call.a16,
                      .weights = &weights_[g],
                      .c = call.c,
                      .c_stride_elements = call.c_stride_elements,
                      .alpha = call.alpha,
                      .alpha_up = call.alpha_up};
    }
    engine_.run(plan_, operands_, workspace_);
  }

 private:
  const Engine& engine_;
  Plan plan_;
  Workspace workspace_;
  std::vector<Weights> weights_;
  std::vector<GroupOperands> operands_;
};

class VariantHost : public Host {
 public:
  VariantHost(std::string variant, int thread_count)
      : variant_(std::move(variant)), engine_({.thread_count = thread_count}) {}

  std::unique_ptr<Prepared> prepare(const Problem& problem,
                                    std::span<const HostedWeights> weights) override {
    if (!variant_.empty()) {
      const Support support = engine_.supports(problem, variant_);
      if (!support.ok) throw Unsupported{support.why_not};
    }
    return std::make_unique<PreparedVariant>(engine_, problem, variant_, weights);
  }

 private:
  const std::string variant_;
  Engine engine_;
};

}  // namespace

std::unique_ptr<Host> make_variant_host(const std::string& variant, int thread_count) {
  return std::make_unique<VariantHost>(variant, thread_count);
}

}  // namespace thresher::referee
