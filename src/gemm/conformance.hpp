// SPDX-License-Identifier: Apache-2.0
// Does an output obey the arithmetic contract? Used by verify, bench, the tests and the referee
// alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm/inputs.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// Row-major m x n output of one group, rows `stride_elements` apart (0 means n). Groups with m = 0
// may leave `c` null.
struct OutputView {
  const void* c = nullptr;
  std::int64_t stride_elements = 0;
};

struct ConformanceOptions {
  // Compare bits instead of asking whether the result is within the bound. Only where
  // compares_bitwise() says so: anything else would accuse right results. Zeros of either sign are
  // equal, since the sign of a sum that cancels depends on its order.
  bool bitwise = false;
  // Elements to check, drawn at random from all groups with `seed`, corners of each group always
  // among them; 0 checks every element.
  std::int64_t sample_count = 0;
  std::uint64_t seed = 0;
};

struct Conformance {
  bool ok = true;
  std::int64_t checked_count = 0;
  std::int64_t failed_count = 0;
  double max_error_over_bound = 0;  // infinite if a result is NaN; informative only when `bitwise`
  std::string first_failure;        // "group 1, row 17, column 3: 0.5 where 0.25 +- 1e-6 is right"
};

// Exact inputs leave a gemm nothing to round but its result. A dual has exact products, but SiLU is
// not exact in FP32: its results are held to the bound.
bool compares_bitwise(const Problem& problem, InputFamily family);

// Throws Error if `outputs` does not fit the problem, or on `bitwise` for a dual.
Conformance check_outputs(const Problem& problem, const Inputs& inputs,
                          const std::vector<OutputView>& outputs, ConformanceOptions options);

}  // namespace thresher
