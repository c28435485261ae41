// SPDX-License-Identifier: Apache-2.0
// A variant of our own engine on a GPU, entered like anybody else.
#include "referee/worker/gpu_host.hpp"

#include <algorithm>
#include <thread>

#include "cpu/side_by_side.hpp"

namespace thresher::referee {
namespace {

// Packing a group takes threads of its own, and the sandbox allows for so many in all.
constexpr unsigned kPackingThreadsMax = 64;

std::size_t groups_packed_at_a_time() {
  return std::max(1u, kPackingThreadsMax / std::max(1u, std::thread::hardware_concurrency()));
}

class BoundVariant : public GpuBound {
 public:
  explicit BoundVariant(GpuCall call) : call_(std::move(call)) {}
  void enqueue(const gpu::Stream& stream) const override { call_.enqueue(stream.handle()); }

 private:
  GpuCall call_;
};

class GpuPreparedVariant : public GpuPrepared {
 public:
  GpuPreparedVariant(const GpuEngine& engine, GpuPlan plan,
                     std::span<const GpuHostedWeights> weights)
      : engine_(engine), plan_(std::move(plan)), workspace_(engine.workspace(plan_)) {
    std::vector<std::optional<GpuWeights>> packed(weights.size());
    cpu::side_by_side(weights.size(), groups_packed_at_a_time(), [&](std::size_t g) {
      const HostedWeights& from = weights[g].host;
      const Problem& problem = plan_.problem();
      packed[g] = problem.op == Op::kDual ? engine.pack_dual(from.b, from.b_up, problem.activations)
                                          : engine.pack(from.b, problem.activations);
    });
    for (std::optional<GpuWeights>& one : packed) weights_.push_back(*std::move(one));
  }

  std::unique_ptr<GpuBound> bind(std::span<const HostedCall> calls) override {
    std::vector<GpuGroupOperands> operands;
    for (std::size_t g = 0; g < calls.size(); ++g) {
      const HostedCall& call = calls[g];
      operands.push_back({.a_codes = call.a.codes,
                          .a_scales = call.a.scales,
                          .a_global_scale = call.a.global_scale,
                          .a16 = call.a16,
                          .weights = &weights_[g],
                          .c = call.c,
                          .c_stride_elements = call.c_stride_elements,
                          .alpha = call.alpha,
                          .alpha_up = call.alpha_up});
    }
    return std::make_unique<BoundVariant>(engine_.bind(plan_, operands, workspace_));
  }

 private:
  const GpuEngine& engine_;
  GpuPlan plan_;
  GpuWorkspace workspace_;
  std::vector<GpuWeights> weights_;
};

class GpuVariantHost : public GpuHost {
 public:
  GpuVariantHost(const GpuEngine& engine, std::string variant)
      : engine_(engine), variant_(std::move(variant)) {}

  std::unique_ptr<GpuPrepared> prepare(const Problem& problem,
                                       std::span<const GpuHostedWeights> weights) override {
    if (!variant_.empty()) {
      const Support support = engine_.supports(problem, variant_);
      if (!support.ok) throw Unsupported{support.why_not};
    }
    return std::make_unique<GpuPreparedVariant>(engine_, plan_for(problem), weights);
  }

 private:
  // Problems that differ in their weights alone have one plan.
  GpuPlan plan_for(const Problem& problem) {
    const auto same = [&](const GpuPlan& plan) {
      const Problem& known = plan.problem();
      return known.op == problem.op && known.activations == problem.activations &&
             known.output == problem.output && known.groups == problem.groups;
    };
    const auto found = std::find_if(plans_.begin(), plans_.end(), same);
    if (found != plans_.end()) return *found;
    return plans_.emplace_back(engine_.plan(problem, variant_));
  }

  const GpuEngine& engine_;
  const std::string variant_;
  std::vector<GpuPlan> plans_;
};

}  // namespace

std::unique_ptr<GpuHost> make_gpu_variant_host(const GpuEngine& engine, std::string variant) {
  return std::make_unique<GpuVariantHost>(engine, std::move(variant));
}

}  // namespace thresher::referee
