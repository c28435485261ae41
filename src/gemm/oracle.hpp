// SPDX-License-Identifier: Apache-2.0
// The oracle: float64, obvious, one element at a time. It is the definition of a right answer.
#pragma once

#include <cstdint>

#include "gemm/inputs.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// One product A*B^T at (row, column), scales and alpha applied, and the sum of the absolute terms
// that the error bound needs.
struct ExactSum {
  double value = 0;
  double magnitude = 0;
};

struct Expected {
  double value = 0;  // before rounding to the output type
  double bound = 0;  // largest |result - value| the arithmetic contract allows (gemm/bound.hpp)
};

Expected oracle(const Problem& problem, const GroupInputs& inputs, std::int64_t group_index,
                std::int64_t row, std::int64_t column);

// The bits a result must have when all sums are exact in FP32: `value` rounded once, to nearest even,
// to the output type, in the low bits.
std::uint32_t round_to_output(double value, Output output);

// The number that output bits stand for.
double output_value(std::uint32_t bits, Output output);

}  // namespace thresher
