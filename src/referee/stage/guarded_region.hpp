// SPDX-License-Identifier: Apache-2.0
// The outputs of one call in memory that a contestant writes: which bytes are its to write, and
// what became of all the others.
//
// Groups lie one after the other with guard bands before, between and after them; where rows are
// further apart than n, the gaps are guarded too. Everything is filled with random bytes before a
// call: random, because a contestant could recognise any fixed pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gemm/conformance.hpp"
#include "gemm/random.hpp"
#include "thresher/problem.hpp"

namespace thresher::referee {

struct OutputShape {
  std::int64_t row_gap_elements = 0;       // rows are n + this apart
  std::int64_t misalignment_elements = 0;  // outputs begin this far behind a 64-byte boundary

  bool operator==(const OutputShape&) const = default;
};

class GuardedRegion {
 public:
  GuardedRegion(const Problem& problem, OutputShape shape);

  std::size_t bytes() const { return bytes_; }
  // Of the group's first element, from the beginning of the region.
  std::int64_t offset(std::size_t group_index) const { return offsets_[group_index]; }
  std::int64_t stride_elements(std::size_t group_index) const {
    return groups_[group_index].n + shape_.row_gap_elements;
  }

  // New random bytes, for the caller to put there.
  std::span<const std::byte> draw_poison(Random& random);
  // `region` is where the region lies now, bytes() long.
  void poison(std::byte* region, Random& random);
  // Where something was written outside the outputs since the poison, or nothing.
  std::string find_trespass(const std::byte* region) const;
  // Elements that still have their poison, beyond those that a right result may have by chance.
  std::int64_t unwritten_count(const std::byte* region) const;
  std::vector<OutputView> views(const std::byte* region) const;

 private:
  // Calls visit(begin, end) for all bytes that are outputs, in order.
  template <typename Visit>
  void for_each_row(Visit visit) const;

  template <typename Bits>
  std::int64_t count_poisoned(const std::byte* region) const;

  const std::vector<Group> groups_;
  const std::size_t element_bytes_;
  const OutputShape shape_;
  std::vector<std::int64_t> offsets_;
  std::size_t bytes_ = 0;
  std::vector<std::byte> poison_;
};

// A hash of memory under a secret key: a contestant cannot write anything else that has it.
std::uint64_t fingerprint(std::span<const std::byte> memory, std::uint64_t key);

}  // namespace thresher::referee
