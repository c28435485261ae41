// SPDX-License-Identifier: Apache-2.0
// A scene on which any setting of the warps' kernel runs in the emulator, not only those that the
// library has kernels of.
#pragma once

#include "gpu/sm80/gemm_support.hpp"
#include "gpu/sm90/kernel_scene.hpp"

namespace thresher::gpu::sm80::testing {

using emulated::KernelSet;
using sm90::ActivationType;
using sm90::OutputType;
using sm90::testing::kernels_for;
using thresher::testing::make_problem;
using thresher::testing::Scene;
using thresher::testing::SceneLayout;

class WarpScene : public Scene {
 public:
  explicit WarpScene(Problem problem, SceneLayout layout = {},
                     InputFamily family = InputFamily::kExact)
      : Scene(Engine({.device = "emulator"}), std::move(problem), family, /*seed=*/3, layout) {}

  // As sm90's KernelScene.
  void run(const GemmKnobs& knobs, const KernelSet& kernels, std::uint64_t emulator_seed = 1,
           std::int64_t tokens_spare = 0) {
    const PlanRequest request{.problem = problem(),
                              .token_limit = token_count(problem()) + tokens_spare,
                              .limits = emulated::kFewSms};
    if (const std::string reason = sm80::why_not(knobs, request); !reason.empty())
      throw Error(reason);
    poison();
    emulated::DeviceCall(problem(), operands(), request.token_limit)
        .run(make_plan(knobs, request), kernels, emulator_seed);
  }
};

}  // namespace thresher::gpu::sm80::testing
