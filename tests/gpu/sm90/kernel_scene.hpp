// SPDX-License-Identifier: Apache-2.0
// A problem with its inputs and packed weights, and outputs that start poisoned, lie between guard
// bands and have a row stride of their own. Runs plans on it in the emulator.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulated/device_call.hpp"
#include "emulated/instantiate.hpp"
#include "emulated/packed_weights.hpp"
#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "support/scene.hpp"

namespace thresher::gpu::sm90::testing {

using emulated::KernelSet;
using thresher::testing::make_problem;

// What one setting of the knobs needs for one kind of problem.
template <GemmKnobs kKnobs, Op kOp, ActivationType kActivations, OutputType kOutput>
KernelSet kernels_for() {
  KernelSet kernels;
  emulated::add_kernels<kKnobs, kOp, kActivations, kOutput>(kernels);
  return kernels;
}

// How a scene lays out what is the caller's choice.
struct SceneOptions {
  InputFamily family = InputFamily::kExact;
  std::uint64_t seed = 1;
  std::int64_t stride_padding = 3;  // elements between the rows of C
  bool rows_follow = false;         // all groups in one buffer of activations and one of C
  std::int64_t tokens_spare = 0;    // by which the token limit exceeds the tokens
};

class KernelScene {
 public:
  KernelScene(Problem problem, SceneOptions options);

  // Poisons the outputs, plans, and runs all launches. `emulator_seed` chooses the order of events.
  void run(const GemmKnobs& knobs, const KernelSet& kernels, std::uint64_t emulator_seed = 1);

  // Against the oracle, every element; bit for bit where the inputs are exact and the op is gemm.
  Conformance conformance() const;
  bool guards_intact() const;
  // The written elements of all groups, in order.
  std::vector<std::uint8_t> output_bytes() const;

  const Problem& problem() const { return problem_; }
  const Inputs& inputs() const { return inputs_; }

 private:
  // Memory for C: of one group, or of all whose rows follow each other.
  struct OutputBuffer {
    std::uint8_t* first_element = nullptr;
    std::int64_t row_count = 0;
    std::int64_t n = 0;
    std::int64_t stride_elements = 0;
    std::vector<std::uint8_t> bytes;  // with the guard bands
  };

  void make_outputs();
  void pack_weights();
  void poison();
  std::int64_t element_bytes() const { return bytes_per_element(problem_.output); }
  std::uint8_t* row_of(std::size_t group, std::int64_t row) const;
  std::int64_t stride_of(std::size_t group) const;
  std::vector<emulated::HostOperands> operands() const;

  Problem problem_;
  SceneOptions options_;
  Inputs inputs_;
  std::vector<emulated::PackedWeights> weights_;
  std::vector<OutputBuffer> outputs_;
  std::optional<emulated::DeviceCall> call_;
};

}  // namespace thresher::gpu::sm90::testing
