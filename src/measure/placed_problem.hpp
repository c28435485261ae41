// SPDX-License-Identifier: Apache-2.0
// A problem's inputs in the memory of an engine's device, weights packed; and outputs there that
// mirror guarded ones of the host. Where the device computes in host memory, they are the same.
#pragma once

#include <memory>
#include <vector>

#include "backend/device.hpp"
#include "gemm/inputs.hpp"
#include "measure/guarded_outputs.hpp"
#include "thresher/engine.hpp"

namespace thresher::measure {

// Both must outlive it.
class PlacedOutputs {
 public:
  PlacedOutputs(const Engine& engine, const GuardedOutputs& outputs);

  // Before a call and after it.
  void send() const;
  void fetch() const;

  // The device's address of a group's first element; null for groups without rows.
  void* c(std::size_t group_index) const;
  std::int64_t stride_elements(std::size_t group_index) const {
    return outputs_.stride_elements(group_index);
  }

 private:
  const GuardedOutputs& outputs_;
  std::unique_ptr<backend::Buffer> buffer_;
};

// Refers to `inputs`, which must live as long.
class PlacedProblem {
 public:
  PlacedProblem(const Engine& engine, const Problem& problem, const Inputs& inputs);
  // The same in other places.
  PlacedProblem(const Engine& engine, const PlacedProblem& other);

  // Point into this object and into `outputs`.
  std::vector<GroupOperands> operands(const PlacedOutputs& outputs) const;

 private:
  struct Activations {
    const void* a = nullptr;
    const void* a_scales = nullptr;
  };

  void place_activations(const Engine& engine);
  template <typename Values>
  const void* placed(const Engine& engine, const Values& values);

  const Problem problem_;
  const Inputs& inputs_;
  std::vector<Weights> weights_;
  std::vector<Activations> activations_;
  std::vector<std::unique_ptr<backend::Buffer>> buffers_;
};

// What a group's weights are, for Engine::pack.
WeightMatrices matrices_of(const Problem& problem, const GroupInputs& inputs);

}  // namespace thresher::measure
