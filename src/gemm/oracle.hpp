// SPDX-License-Identifier: Apache-2.0
// The oracle: float64, obvious, one element at a time. It is the definition of a right answer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gemm/inputs.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// What the inputs of a call allow to be asked of its results.
enum class Rigour : std::uint8_t {
  kBound,    // each within the bound
  kTypical,  // the same, and all together no further off than FP32 sums of such inputs are
  kSums,     // sums are exact, factors and SiLU are not: each within a few roundings
  kBits,     // nothing is rounded but the result: its bits
  // Of whoever rounds to 16 bits before the end, which the contract does not allow: all errors
  // together, and no element wrong altogether. For foreign kernels; nothing of ours is judged so.
  kTogether,
};

struct Expected {
  double value = 0;        // before rounding to the output type
  double bound = 0;        // largest |result - value| the contract allows (gemm/bound.hpp)
  double mean_square = 0;  // of result - value, where terms have random signs
};

Expected oracle(const Problem& problem, const GroupInputs& inputs, std::int64_t group_index,
                std::int64_t row, std::int64_t column, Rigour rigour = Rigour::kBound);

// The same in three steps, for those who check many elements and want to decode each row once. Rows
// are decoded exactly; global scales are not in them.
struct WeightRows {
  std::vector<float> b;     // gemm's weights, dual's gate
  std::vector<float> b_up;  // dual only
};
void decode_row(const Nvfp4Matrix& matrix, std::int64_t row, std::span<float> values);
std::vector<float> activation_row(const Problem& problem, const GroupInputs& inputs,
                                  std::int64_t k_elements, std::int64_t row);
WeightRows weight_rows(const Problem& problem, const GroupInputs& inputs, std::int64_t column);
Expected oracle_of_rows(const Problem& problem, const GroupInputs& inputs, std::span<const float> a,
                        const WeightRows& weights, Rigour rigour = Rigour::kBound);

// The bits a result must have when all sums are exact in FP32: `value` rounded once, to nearest
// even, to the output type, in the low bits.
std::uint32_t round_to_output(double value, Output output);

// The number that output bits stand for.
double output_value(std::uint32_t bits, Output output);

}  // namespace thresher
