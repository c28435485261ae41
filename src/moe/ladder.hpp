// SPDX-License-Identifier: Apache-2.0
// Which variants compute the products of a layer, for few tokens and for many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/layer.hpp"
#include "thresher/engine.hpp"

namespace thresher::moe {

// What the products of a layer leave to do between them.
backend::Between between_of(const MoeOptions& options, bool has_biases);

// The products of a layer as problems of the engine, groups without m.
struct LayerProblems {
  Problem first;  // gate and up, or one of them at a time
  Problem down;
};
LayerProblems problems_of(const backend::LayerShape& shape);

// Variants for calls of up to so many tokens.
struct Rung {
  std::int64_t tokens_max = 0;
  std::string first;
  std::string down;
};

// From more tokens than `few` to the layer's most; neighbours differ in a variant. One rung where a
// token's bits must not depend on the number of tokens.
std::vector<Rung> ladder_of(const backend::LayerShape& shape, const Engine& engine,
                            std::int64_t few = 0);

// Tokens as a router that prefers nobody would deal them out.
Problem with_typical_rows(Problem problem, const backend::LayerShape& shape, std::int64_t tokens);

}  // namespace thresher::moe
