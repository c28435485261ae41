// SPDX-License-Identifier: Apache-2.0
// Which tensors of a checkpoint are rounded to NVFP4, and what the new checkpoint has in their
// places. No byte of a weight is read.
//
// A matrix of its own stays one. Of experts that lie in a stack, ModelOpt's format keeps the stacks
// of the families that it writes as stacks (Llama-4, GPT-OSS); elsewhere, and in
// compressed-tensors' format, every expert gets tensors of its own, as both makers write them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "checkpoint/plain_matrix.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

// A run of elements of a tensor.
struct ElementRange {
  const Tensor* tensor = nullptr;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// What becomes one NVFP4 matrix, or one stack of them.
struct Rounded {
  std::string name;  // "model.layers.0.mlp.experts.3.up_proj", or that of a stack
  bool stacked = false;
  std::vector<PlainMatrix> matrices;  // one, or a stack's
  std::size_t scale = 0;              // into RoundingPlan::scales

  const Tensor& tensor() const { return *matrices.front().tensor; }
};

// Values that are copied into a tensor of their own: an expert's part of a stack of biases.
struct CutVector {
  std::string name;
  const Tensor* tensor = nullptr;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t stride = 1;
};

struct RoundingPlan {
  std::vector<Rounded> rounded;
  std::vector<CutVector> cut;
  // The elements that share a global scale.
  std::vector<std::vector<ElementRange>> scales;
  // Tensors that the new checkpoint does not have as they are.
  std::unordered_set<const Tensor*> replaced;
};

// `linears`: all linear layers, and not only the experts'. Throws Error where something cannot be
// rounded, and where there is nothing to round.
RoundingPlan plan_rounding(const State& state, CheckpointFormat format, bool linears);

}  // namespace thresher::checkpoint
