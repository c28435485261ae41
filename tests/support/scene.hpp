// SPDX-License-Identifier: Apache-2.0
// A problem ready to run: inputs, packed weights, and outputs that start poisoned, lie between
// guard bands and have a row stride larger than n.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "thresher/engine.hpp"

namespace thresher::testing {

class Scene {
 public:
  Scene(const Engine& engine, Problem problem, InputFamily family, std::uint64_t seed);

  // Poisons the outputs, plans, checks and runs.
  void run(const Engine& engine, std::string_view variant);

  // Against the oracle, every element; bit for bit where the inputs are exact and the op is gemm.
  Conformance conformance() const;
  bool guards_intact() const;

  // The written elements of all groups, in order.
  std::vector<std::uint8_t> output_bytes() const;

  const Problem& problem() const { return problem_; }
  const Inputs& inputs() const { return inputs_; }
  std::vector<GroupOperands>& operands() { return operands_; }
  void poison();

 private:
  struct Buffer {
    std::vector<std::uint8_t> bytes;
    std::int64_t stride_elements = 0;
  };

  std::uint8_t* first_element(Buffer& buffer) const;
  const std::uint8_t* first_element(const Buffer& buffer) const;

  Problem problem_;
  InputFamily family_;
  Inputs inputs_;
  std::vector<Weights> weights_;
  std::vector<Buffer> buffers_;
  std::vector<GroupOperands> operands_;
};

// A problem in one line: groups of m rows, all with the same n and k.
Problem make_problem(std::vector<std::int64_t> m, std::int64_t n, std::int64_t k, Op op = Op::kGemm,
                     Activations activations = Activations::kNvfp4, Output output = Output::kFp32);

}  // namespace thresher::testing
