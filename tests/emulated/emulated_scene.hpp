// SPDX-License-Identifier: Apache-2.0
// A scene whose problem the emulated engine computes: the same inputs and guarded outputs, the
// weights packed for the GPU's kernels.
#pragma once

#include <string_view>
#include <vector>

#include "emulated/emulated_engine.hpp"
#include "support/scene.hpp"

namespace thresher::emulated::testing {

using thresher::testing::make_problem;

class EmulatedScene {
 public:
  explicit EmulatedScene(Problem problem, InputFamily family = InputFamily::kExact)
      : scene_(Engine({.thread_count = 1}), std::move(problem), family, /*seed=*/1) {
    const bool is_dual = scene_.problem().op == Op::kDual;
    for (const GroupInputs& inputs : scene_.inputs().groups) {
      const Activations activations = scene_.problem().activations;
      weights_.push_back(is_dual ? pack_dual(inputs.b.view(), inputs.b_up.view(), activations)
                                 : pack(inputs.b.view(), activations));
    }
    for (std::size_t g = 0; g < weights_.size(); ++g) {
      const GroupOperands& operands = scene_.operands()[g];
      operands_.push_back({.a = operands.a,
                           .a16 = operands.a16,
                           .weights = &weights_[g],
                           .c = operands.c,
                           .c_stride_elements = operands.c_stride_elements,
                           .alpha = operands.alpha,
                           .alpha_up = operands.alpha_up});
    }
  }

  // Poisons the outputs first.
  void run(const EmulatedEngine& engine, std::string_view variant, std::uint64_t seed = 1) {
    scene_.poison();
    engine.run(scene_.problem(), variant, operands_, seed);
  }

  thresher::testing::Scene& scene() { return scene_; }
  std::vector<HostOperands>& operands() { return operands_; }

 private:
  thresher::testing::Scene scene_;
  std::vector<PackedWeights> weights_;
  std::vector<HostOperands> operands_;
};

}  // namespace thresher::emulated::testing
