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

// A KernelScene with the limits of this family.
class WarpScene : public sm90::testing::KernelScene {
 public:
  explicit WarpScene(Problem problem, SceneLayout layout = {},
                     InputFamily family = InputFamily::kExact)
      : KernelScene(std::move(problem), layout, family) {
    why_not_ = sm80::why_not;
  }
};

}  // namespace thresher::gpu::sm80::testing
