// SPDX-License-Identifier: Apache-2.0
// Output buffers that notice writes outside of them and elements that nobody wrote.
//
// All groups lie in one piece of memory with guard bands before, between and after them; where rows
// are further apart than n, the gaps are guarded too. Random bytes poison everything first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpu/pages.hpp"
#include "gemm/conformance.hpp"
#include "thresher/problem.hpp"

namespace thresher::cli {

struct OutputLayout {
  std::int64_t row_gap_elements = 0;       // rows are n + this apart
  std::int64_t misalignment_elements = 0;  // outputs begin this far behind a 64-byte boundary
};

class GuardedOutputs {
 public:
  GuardedOutputs(const Problem& problem, OutputLayout layout);

  void poison(std::uint64_t seed);
  // Every bit the opposite of what the last poison had.
  void poison_inverted();

  // Null for groups without rows.
  void* c(std::size_t group_index) const;
  std::int64_t stride_elements(std::size_t group_index) const;
  std::vector<OutputView> views() const;

  // All of it, guards and gaps too, for whoever computes on a copy elsewhere.
  std::span<std::uint8_t> bytes() const { return {memory_.data(), memory_.bytes()}; }

  // Where something was written outside the outputs since the poison, or nothing.
  std::string find_trespass() const;
  // Indices of elements that still have their poison. A right result may have it by chance.
  std::vector<std::size_t> poisoned_elements() const;
  // The bytes of all elements of all groups, row by row.
  std::vector<std::uint8_t> elements() const;
  // "group 1, row 17, column 3" for an index into poisoned_elements() or elements() / element size.
  std::string describe_element(std::size_t element_index) const;

 private:
  struct Guard {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string where;
  };

  std::size_t row_offset(std::size_t group_index, std::int64_t row) const;
  void add_row_guards(std::size_t group_index);

  const std::vector<Group> groups_;
  const std::size_t element_bytes_;
  const OutputLayout layout_;
  std::vector<std::size_t> offsets_;  // of each group's first element
  std::vector<Guard> guards_;
  cpu::Pages memory_;
  std::vector<std::uint8_t> poison_;
};

}  // namespace thresher::cli
