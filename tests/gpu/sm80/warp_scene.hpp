// SPDX-License-Identifier: Apache-2.0
// A scene on which any setting of the warps' kernel runs in the emulator, not only those that the
// library has kernels of.
#pragma once

#include "gpu/kernel_scene.hpp"
#include "gpu/sm80/gemm_support.hpp"

namespace thresher::gpu::sm80::testing {

using emulated::KernelSet;
using gpu::testing::kernels_for;
using thresher::testing::make_problem;
using thresher::testing::Scene;
using thresher::testing::SceneLayout;

// A KernelScene with the limits of this family.
class WarpScene : public gpu::testing::KernelScene {
 public:
  explicit WarpScene(Problem problem, SceneLayout layout = {},
                     InputFamily family = InputFamily::kExact)
      : KernelScene(std::move(problem), layout, family) {
    why_not_ = sm80::why_not;
  }

  // Of a device; by default they are those of emulated::kFewSms.
  void set_limits(const SmLimits& limits) { limits_ = limits; }
};

}  // namespace thresher::gpu::sm80::testing
