// SPDX-License-Identifier: Apache-2.0
// The oracle: float64, obvious, one element at a time. It is the definition of a right answer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gemm/inputs.hpp"
#include "thresher/problem.hpp"

namespace thresher {

struct Expected {
  double value = 0;  // before rounding to the output type
  double bound = 0;  // largest |result - value| the arithmetic contract allows (gemm/bound.hpp)
};

Expected oracle(const Problem& problem, const GroupInputs& inputs, std::int64_t group_index,
                std::int64_t row, std::int64_t column);

// The same in three steps, for those who check many elements and want to decode each row once. Rows
// are decoded exactly; global scales are not in them.
struct WeightRows {
  std::vector<float> b;     // gemm's weights, dual's gate
  std::vector<float> b_up;  // dual only
};
std::vector<float> activation_row(const Problem& problem, const GroupInputs& inputs,
                                  std::int64_t k_elements, std::int64_t row);
WeightRows weight_rows(const Problem& problem, const GroupInputs& inputs, std::int64_t column);
Expected oracle_of_rows(const Problem& problem, const GroupInputs& inputs, std::span<const float> a,
                        const WeightRows& weights);

// The bits a result must have when all sums are exact in FP32: `value` rounded once, to nearest
// even, to the output type, in the low bits.
std::uint32_t round_to_output(double value, Output output);

// The number that output bits stand for.
double output_value(std::uint32_t bits, Output output);

}  // namespace thresher
