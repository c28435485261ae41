// SPDX-License-Identifier: Apache-2.0
// A scene on which any setting of the knobs runs in the emulator, not only those that the library
// has kernels of.
#pragma once

#include <cstdint>

#include "emulated/device_call.hpp"
#include "emulated/instantiate.hpp"
#include "gpu/sm90/gemm_support.hpp"
#include "support/scene.hpp"

namespace thresher::gpu::testing {

using emulated::KernelSet;
using thresher::testing::make_problem;
using thresher::testing::Scene;
using thresher::testing::SceneLayout;

// What one setting of the knobs needs for one kind of problem.
template <GemmKnobs kKnobs, Op kOp, ActivationType kActivations, OutputType kOutput>
KernelSet kernels_for() {
  KernelSet kernels;
  emulated::add_kernels<kKnobs, kOp, kActivations, kOutput>(kernels);
  return kernels;
}

class KernelScene : public Scene {
 public:
  explicit KernelScene(Problem problem, SceneLayout layout = {},
                       InputFamily family = InputFamily::kExact)
      : Scene(Engine({.device = "emulator"}), std::move(problem), family, /*seed=*/3, layout) {}

  // Poisons the outputs, plans, and runs all launches. `emulator_seed` chooses the order of events;
  // the limit of tokens that the host knows exceeds them by `tokens_spare`.
  void run(const GemmKnobs& knobs, const KernelSet& kernels, std::uint64_t emulator_seed = 1,
           std::int64_t tokens_spare = 0) {
    const PlanRequest request{.problem = problem(),
                              .token_limit = token_count(problem()) + tokens_spare,
                              .limits = limits_};
    if (const std::string reason = why_not_(knobs, request); !reason.empty()) throw Error(reason);
    poison();
    const GemmPlan plan = make_plan(knobs, request);
    emulated::DeviceCall(problem(), operands(), request.token_limit)
        .run(plan, kernels, emulated::CallMemory(plan),
             {.seed = emulator_seed, .launches = knobs.launches});
  }

 protected:
  SmLimits limits_ = emulated::kFewSms;
  std::string (*why_not_)(const GemmKnobs& knobs, const PlanRequest& request) = sm90::why_not;
};

}  // namespace thresher::gpu::testing
