// SPDX-License-Identifier: Apache-2.0
// The one error bound of the project: how far a right result may be from the float64 oracle, and
// how far right results are from it in the root mean square. bound.cpp derives both; nobody else
// has a tolerance.
#pragma once

#include <cstdint>

#include "thresher/problem.hpp"

namespace thresher {

// One product A*B^T at one place: sum of a*b over k, times alpha and the global scales.
struct ExactSum {
  double value = 0;
  double magnitude = 0;  // the same sum over |a*b|, times |factor|
  double factor = 1;     // alpha and the global scales, already in the others
  double rms = 0;        // root of the sum of (a*b)^2, times |factor|: typical of such sums
};

inline constexpr double kUnitRoundoff = 0x1p-24;  // of FP32

// Largest |y - sum.value| for a y that was accumulated over k terms in FP32, in any order.
double sum_error(const ExactSum& sum, std::int64_t k);
// The same where every partial sum is exact in FP32: what factors and their underflow leave.
double exact_sum_error(const ExactSum& sum, std::int64_t k);
// Root mean square of y - sum.value over many such y whose terms have random signs, at most.
double typical_sum_error(double sum_rms, std::int64_t k);

// The two products of a dual GEMM with the error of each, largest or typical.
struct DualSums {
  double gate = 0;
  double gate_error = 0;
  double up = 0;
  double up_error = 0;
};

double silu(double x);

// Largest |y - silu(gate) * up| for a y whose SiLU and product were evaluated in FP32; with typical
// errors of the sums, a typical one.
double dual_error(const DualSums& sums);

// Largest |round(y) - value| over every y with |y - value| <= error, one rounding to `output`.
double bound_after_rounding(double value, double error, Output output);

// Half the distance of neighbours in `output` at this magnitude.
double half_ulp(double magnitude, Output output);

// Expected (round(y) - value)^2 for y with a typical error of `error`.
double mean_square_after_rounding(double value, double error, Output output);

// The mean of so many squared errors, each over what is expected of it, that no right call reaches:
// by chance once in 10^12 calls.
double precision_limit(double element_count);

// How far a group's results may be off that were rounded to `output` again and again, parts of
// their sums too: the norm of all errors over that of what is right; and any one error over its
// value and the root mean square of all.
double together_limit(Output output);
double together_element_limit(Output output);

// How far a result is from `value`. An infinity stands for all values from 2^(largest exponent + 1)
// up, NaN is infinitely far from everything.
double distance(double result, double value, Output output);

}  // namespace thresher
