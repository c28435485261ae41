// SPDX-License-Identifier: Apache-2.0
// The one error bound of the project: how far a right result may be from the float64 oracle.
// bound.cpp derives it; nobody else has a tolerance.
#pragma once

#include <cstdint>

#include "thresher/problem.hpp"

namespace thresher {

// One product A*B^T at one place: sum of a*b over k, times alpha and the global scales.
struct ExactSum {
  double value = 0;
  double magnitude = 0;  // the same sum over |a*b|, times |factor|
  double factor = 1;     // alpha and the global scales, already in `value` and `magnitude`
};

// Largest |y - sum.value| for a y that was accumulated over k terms in FP32, in any order.
double sum_error(const ExactSum& sum, std::int64_t k);

// The two products of a dual GEMM with the error of each.
struct DualSums {
  double gate = 0;
  double gate_error = 0;
  double up = 0;
  double up_error = 0;
};

double silu(double x);

// Largest |y - silu(gate) * up| for a y whose SiLU and product were evaluated in FP32.
double dual_error(const DualSums& sums);

// Largest |round(y) - value| over every y with |y - value| <= error, one rounding to `output`.
double bound_after_rounding(double value, double error, Output output);

// How far a result is from `value`. An infinity stands for all values from 2^(largest exponent + 1)
// up, NaN is infinitely far from everything.
double distance(double result, double value, Output output);

}  // namespace thresher
