// SPDX-License-Identifier: Apache-2.0
// Does an output obey the arithmetic contract? Here every element is asked of the oracle, which is
// the definition; measure/witness.hpp gives the same answer on outputs too large for that. One of
// the two is what verify, bench, the tests and the referee use, and neither looks at samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm/inputs.hpp"
#include "gemm/oracle.hpp"
#include "gemm/row_compare.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// Row-major m x n output of one group, rows `stride_elements` apart (0 means n). Groups with m = 0
// may leave `c` null.
struct OutputView {
  const void* c = nullptr;
  std::int64_t stride_elements = 0;
};

struct Conformance {
  bool ok = true;
  std::int64_t checked_count = 0;
  std::int64_t failed_count = 0;
  double max_error_over_bound = 0;  // infinite if a result is NaN
  // Mean of error^2 over what is expected of it, and how much is too much (Rigour::kTypical).
  double mean_square = 0;
  double mean_square_max = 0;
  bool imprecise = false;     // it was too much
  std::string first_failure;  // "group 1, row 17, column 3: 0.5 where 0.25 +- 1e-6 is right"
};

// Exact inputs leave a gemm nothing to round but its result; a dual has exact products, but SiLU is
// not exact in FP32. Natural ones have terms with random signs.
Rigour rigour_of(const Problem& problem, InputFamily family);

// Throws Error if `outputs` does not fit the problem, or on kBits for a dual.
void check_views(const Problem& problem, const Inputs& inputs,
                 const std::vector<OutputView>& outputs, Rigour rigour);

// Every element of all groups. kBits takes zeros of either sign for equal, since the sign of a sum
// that cancels depends on its order. Throws what check_views() throws.
Conformance check_outputs(const Problem& problem, const Inputs& inputs,
                          const std::vector<OutputView>& outputs, Rigour rigour);

// One element, in the words of `first_failure`; empty if it is right.
std::string find_wrong_element(const Problem& problem, const Inputs& inputs,
                               const std::vector<OutputView>& outputs, Rigour rigour,
                               std::size_t group_index, std::int64_t row, std::int64_t column);

// Completes a result: `squares` is the sum of error^2 over what was expected of each element.
void judge_precision(const Problem& problem, double squares, Conformance& result);

// Likewise of Rigour::kTogether, by the errors of each group.
void judge_together(const Problem& problem, const std::vector<ErrorsTogether>& groups,
                    Conformance& result);

}  // namespace thresher
