// SPDX-License-Identifier: Apache-2.0
// An engine that is right by definition: the oracle, rounded once. Tests plant errors in
// what it writes.
#pragma once

#include <cstring>

#include "gemm/inputs.hpp"
#include "gemm/oracle.hpp"
#include "measure/guarded_outputs.hpp"
#include "thresher/problem.hpp"

namespace thresher::measure {

inline std::uint8_t* element_address(const Problem& problem, const GuardedOutputs& outputs,
                                     std::size_t group_index, std::int64_t row,
                                     std::int64_t column) {
  const std::int64_t index = row * outputs.stride_elements(group_index) + column;
  return static_cast<std::uint8_t*>(outputs.c(group_index)) +
         index * bytes_per_element(problem.output);
}

inline void write_right_answer(const Problem& problem, const Inputs& inputs,
                               const GuardedOutputs& outputs) {
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    for (std::int64_t row = 0; row < problem.groups[g].m; ++row) {
      for (std::int64_t column = 0; column < problem.groups[g].n; ++column) {
        const Expected expected =
            oracle(problem, inputs.groups[g], static_cast<std::int64_t>(g), row, column);
        const std::uint32_t bits = round_to_output(expected.value, problem.output);
        std::memcpy(element_address(problem, outputs, g, row, column), &bits,
                    static_cast<std::size_t>(bytes_per_element(problem.output)));
      }
    }
  }
}

}  // namespace thresher::measure
