// SPDX-License-Identifier: Apache-2.0
// Does an output obey the arithmetic contract? Used by verify, bench, the tests and the referee alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm/inputs.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// Row-major m x n output of one group, rows `stride_elements` apart.
struct OutputView {
  const void* c = nullptr;
  std::int64_t stride_elements = 0;
};

struct ConformanceOptions {
  bool bitwise = false;  // exact inputs: compare bits; otherwise compare with the bound
  // Elements to check, drawn at random from all groups with `seed`, corners of each group always among
  // them; 0 checks every element.
  std::int64_t sample_count = 0;
  std::uint64_t seed = 0;
};

struct Conformance {
  bool ok = true;
  std::int64_t checked_count = 0;
  std::int64_t failed_count = 0;
  double max_error_over_bound = 0;
  std::string first_failure;  // "group 1, row 17, column 3: 0.5 where 0.25 +- 1e-6 is right"
};

Conformance check_outputs(const Problem& problem, const Inputs& inputs,
                          const std::vector<OutputView>& outputs, ConformanceOptions options);

}  // namespace thresher
