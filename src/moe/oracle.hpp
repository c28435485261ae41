// SPDX-License-Identifier: Apache-2.0
// The layer's definition in float64, one token at a time, and how far a right result may be from
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "gemm/oracle.hpp"
#include "thresher/moe.hpp"

namespace thresher::moe {

// A layer in host memory.
struct OracleLayer {
  MoeMatrices matrices;
  MoeOptions options;
};

// What a token's row of out must be, column by column: the value before it is rounded to the type
// of out, and the bound. `tokens` has host addresses.
std::vector<Expected> layer_oracle(const OracleLayer& layer, const MoeTokens& tokens,
                                   std::int64_t token);

// Largest |result - value| / bound of a token's row; above 1 is wrong.
double worst_ratio(const OracleLayer& layer, const MoeTokens& tokens, std::int64_t token);

}  // namespace thresher::moe
