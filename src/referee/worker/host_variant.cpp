// SPDX-License-Identifier: Apache-2.0
// A variant of our own engine, entered like anybody else: in a sandboxed process, through the
// protocol.
#include <algorithm>
#include <optional>

#include "backend/device.hpp"
#include "cpu/side_by_side.hpp"
#include "referee/worker/host.hpp"

namespace thresher::referee {
namespace {

class BoundVariant : public Bound {
 public:
  explicit BoundVariant(Call call) : call_(std::move(call)) {}
  void enqueue(void* stream) const override { call_.enqueue(stream); }

 private:
  Call call_;
};

class PreparedVariant : public Prepared {
 public:
  PreparedVariant(const Engine& engine, const Plan& plan, std::span<const HostedWeights> weights)
      : engine_(engine), plan_(plan), workspace_(engine.workspace(plan_)) {
    const Problem& problem = plan_.problem();
    std::vector<std::optional<Weights>> packed(weights.size());
    cpu::side_by_side(weights.size(), engine.state().packs_at_a_time(), [&](std::size_t g) {
      packed[g] = engine.pack({.op = problem.op,
                               .b = weights[g].b,
                               .up = weights[g].b_up,
                               .activations = problem.activations});
    });
    for (std::optional<Weights>& one : packed) weights_.push_back(*std::move(one));
    groups_.resize(weights_.size());
  }

  void run(std::span<const HostedCall> calls) override {
    take(calls);
    engine_.run(plan_, {.groups = groups_}, workspace_);
  }

  std::unique_ptr<Bound> bind(std::span<const HostedCall> calls) override {
    take(calls);
    return std::make_unique<BoundVariant>(engine_.bind(plan_, {.groups = groups_}, workspace_));
  }

 private:
  void take(std::span<const HostedCall> calls) {
    const bool nvfp4 = plan_.problem().activations == Activations::kNvfp4;
    for (std::size_t g = 0; g < calls.size(); ++g) {
      const HostedCall& call = calls[g];
      groups_[g] = {.weights = &weights_[g],
                    .a_global_scale = call.a.global_scale,
                    .alpha = call.alpha,
                    .alpha_up = call.alpha_up,
                    .rows = {.a = nvfp4 ? static_cast<const void*>(call.a.codes) : call.a16,
                             .a_scales = call.a.scales,
                             .c = call.c,
                             .c_stride_elements = call.c_stride_elements}};
    }
  }

  const Engine& engine_;
  Plan plan_;
  Workspace workspace_;
  std::vector<Weights> weights_;
  std::vector<GroupOperands> groups_;  // kept, so that a run allocates nothing
};

class VariantHost : public Host {
 public:
  VariantHost(const Engine& engine, std::string variant)
      : engine_(engine), variant_(std::move(variant)) {}

  std::unique_ptr<Prepared> prepare(const Problem& problem,
                                    std::span<const HostedWeights> weights) override {
    if (!variant_.empty()) {
      const Support support = engine_.supports(problem, variant_);
      if (!support.ok) throw Unsupported{support.why_not};
    }
    return std::make_unique<PreparedVariant>(engine_, plan_for(problem), weights);
  }

 private:
  // Problems that differ in their weights alone have one plan.
  Plan plan_for(const Problem& problem) {
    const auto same = [&](const Plan& plan) {
      const Problem& known = plan.problem();
      return known.op == problem.op && known.activations == problem.activations &&
             known.output == problem.output && known.groups == problem.groups;
    };
    const auto found = std::find_if(plans_.begin(), plans_.end(), same);
    if (found != plans_.end()) return *found;
    return plans_.emplace_back(engine_.plan(problem, variant_));
  }

  const Engine& engine_;
  const std::string variant_;
  std::vector<Plan> plans_;
};

}  // namespace

void Prepared::run(std::span<const HostedCall>) { throw Error("a host on a GPU binds its calls"); }

std::unique_ptr<Bound> Prepared::bind(std::span<const HostedCall>) {
  throw Error("a host on the CPU computes at once");
}

std::unique_ptr<Host> make_variant_host(const Engine& engine, std::string variant) {
  return std::make_unique<VariantHost>(engine, std::move(variant));
}

}  // namespace thresher::referee
