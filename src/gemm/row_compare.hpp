// SPDX-License-Identifier: Apache-2.0
// Whole rows of outputs compared with FP32 products that are known to be right, many elements at a
// time. Tolerances are those of gemm/bound.hpp with the norms of the operands in the place of sums
// that only the oracle has: sum |a*b| <= |a|*|b|, and where signs are random the root of
// sum (a*b)^2 is about |a|*|b| / sqrt(k). Doubled, since what is known to be right has errors of
// its own. So a row that fails here is suspect; which element, and whether, is for the oracle to
// say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gemm/oracle.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// One product, A * B^T, of a row: gemm's only one, dual's gate and up.
struct RightProduct {
  const float* values = nullptr;
  const float* signs = nullptr;  // 1 or -1: what `values` have to be multiplied with
  const float* norms = nullptr;  // of the rows of B
  double norm = 0;               // of the row of A, times the factor
  double factor = 1;
};

struct RightRow {
  Op op = Op::kGemm;
  Output output = Output::kFp16;
  std::int64_t n = 0;
  std::int64_t k = 0;
  RightProduct product;  // gemm's, dual's gate
  RightProduct up;       // dual only
};

struct RowFinding {
  double max_error_over_bound = 0;  // above 1: suspect; infinite if something is not finite
  double squares = 0;               // sum of error^2 over what is expected of each
};

// `c`: n elements of the output type. Bits are compared with half an ulp for a bound; a tie looks
// suspect at first.
RowFinding compare_row(const RightRow& right, const void* c, Rigour rigour);

// Elements of the row that are suspect, as compare_row() says, in order; at most `count_max`.
std::vector<std::int64_t> suspects(const RightRow& right, const void* c, Rigour rigour,
                                   std::size_t count_max);

// Errors of so many elements, to be judged together (Rigour::kTogether).
struct ErrorsTogether {
  double error_squares = 0;  // infinite if something is not finite
  double right_squares = 0;
  double largest_excess = 0;  // of an error over what its own value allows
  double count = 0;

  void add(double error, double right, Output output);
  void add(const ErrorsTogether& others);
  // Above 1: wrong.
  double over_limit(Output output) const;
};

ErrorsTogether errors_of_row(const RightRow& right, const void* c);

}  // namespace thresher
