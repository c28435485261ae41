// SPDX-License-Identifier: Apache-2.0
// A small layer with random experts, tokens and choices, and its oracle.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "moe/oracle.hpp"
#include "support/scene.hpp"
#include "thresher/moe.hpp"

namespace thresher::testing {

struct LayerCase {
  std::string name;
  std::int64_t hidden = 64;
  std::int64_t intermediate = 48;
  std::int64_t expert_count = 5;
  std::int64_t shared_count = 0;
  std::int64_t token_count = 7;
  bool biases = false;
  bool exact = false;  // every sum is exact: results are compared bit for bit
  float input_scale = 1.0f;
  MoeOptions options;
};

class LayerScene {
 public:
  explicit LayerScene(const LayerCase& which, std::uint64_t seed = 1);

  const LayerCase& which() const { return case_; }
  MoeMatrices matrices() const { return {.experts = routed_, .shared = shared_}; }
  // Host memory, to be spoilt; out is poisoned and lies between guards.
  MoeTokens& tokens() { return tokens_; }
  std::vector<std::int32_t>& ids() { return ids_; }
  std::vector<MoeExpert>& experts() { return routed_; }

  // forward() on poisoned memory.
  void run(const MoeLayer& layer);
  void poison();
  // Empty, or what is wrong: a guard, a token beyond the bound, a bit of an exact result.
  std::string why_wrong() const;
  // The row of a token.
  std::vector<std::uint8_t> row(std::int64_t token) const;

 private:
  MoeExpert make_expert();
  Nvfp4View make_matrix(std::int64_t rows, std::int64_t k, bool positive);
  const float* make_bias(std::int64_t count);
  void make_tokens();
  std::uint64_t next(std::uint64_t bound);

  LayerCase case_;
  std::uint64_t state_;
  std::vector<Nvfp4Matrix> memory_;
  std::vector<std::vector<float>> biases_;
  std::vector<MoeExpert> routed_;
  std::vector<MoeExpert> shared_;
  std::vector<std::uint8_t> x_;
  std::vector<std::int32_t> ids_;
  std::vector<float> weights_;
  std::vector<float> shared_weights_;
  std::vector<std::uint8_t> out_;
  MoeTokens tokens_;
};

}  // namespace thresher::testing
