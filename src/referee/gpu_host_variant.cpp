// SPDX-License-Identifier: Apache-2.0
// A variant of our own engine on a GPU, entered like anybody else.
#include "referee/gpu_host.hpp"

namespace thresher::referee {
namespace {

class BoundVariant : public GpuBound {
 public:
  explicit BoundVariant(GpuCall call) : call_(std::move(call)) {}
  void enqueue(const gpu::Stream& stream) const override { call_.enqueue(stream.handle()); }

 private:
  GpuCall call_;
};

class PreparedVariant : public GpuPrepared {
 public:
  PreparedVariant(const GpuEngine& engine, const Problem& problem, const std::string& variant,
                  std::span<const GpuHostedWeights> weights)
      : engine_(engine), plan_(engine.plan(problem, variant)), workspace_(engine.workspace(plan_)) {
    for (const GpuHostedWeights& one : weights) {
      weights_.push_back(problem.op == Op::kDual ? engine.pack_dual(one.host.b, one.host.b_up)
                                                 : engine.pack(one.host.b));
    }
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
    return std::make_unique<PreparedVariant>(engine_, problem, variant_, weights);
  }

 private:
  const GpuEngine& engine_;
  const std::string variant_;
};

}  // namespace

std::unique_ptr<GpuHost> make_gpu_variant_host(const GpuEngine& engine, std::string variant) {
  return std::make_unique<GpuVariantHost>(engine, std::move(variant));
}

}  // namespace thresher::referee
