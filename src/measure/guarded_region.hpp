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

namespace thresher::measure {

struct OutputShape {
  std::int64_t row_gap_elements = 0;       // rows are n + this apart
  std::int64_t misalignment_elements = 0;  // outputs begin this far behind a 64-byte boundary

  bool operator==(const OutputShape&) const = default;
};

class GuardedRegion {
 public:
  GuardedRegion(const Problem& problem, OutputShape shape);

  std::size_t bytes() const { return bytes_; }
  std::size_t element_bytes() const { return element_bytes_; }
  const std::vector<Group>& groups() const { return groups_; }
  // Of the group's first element, from the beginning of the region.
  std::int64_t offset(std::size_t group_index) const { return offsets_[group_index]; }
  std::int64_t stride_elements(std::size_t group_index) const {
    return groups_[group_index].n + shape_.row_gap_elements;
  }

  // New random bytes, for the caller to put there.
  std::span<const std::byte> draw_poison(Random& random);
  // The opposite of every bit of the last ones.
  std::span<const std::byte> invert_poison();
  const std::byte* poison_at(std::size_t offset) const { return poison_.data() + offset; }
  // `region` is where the region lies now, bytes() long.
  void poison(std::byte* region, Random& random);
  // Where something was written outside the outputs since the poison, or nothing.
  std::string find_trespass(const std::byte* region) const;
  // Elements that still have their poison, beyond those that a right result may have by chance.
  std::int64_t unwritten_count(const std::byte* region) const;
  std::vector<OutputView> views(const std::byte* region) const;

  // Calls visit(begin, end) for the bytes of every row of outputs, in order.
  template <typename Visit>
  void for_each_row(Visit visit) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::size_t row_bytes = static_cast<std::size_t>(groups_[g].n) * element_bytes_;
      const std::size_t stride_bytes =
          static_cast<std::size_t>(stride_elements(g)) * element_bytes_;
      std::size_t begin = static_cast<std::size_t>(offsets_[g]);
      for (std::int64_t row = 0; row < groups_[g].m; ++row, begin += stride_bytes) {
        visit(begin, begin + row_bytes);
      }
    }
  }

 private:
  template <typename Bits>
  std::int64_t count_poisoned(const std::byte* region) const;

  const std::vector<Group> groups_;
  const std::size_t element_bytes_;
  const OutputShape shape_;
  std::vector<std::int64_t> offsets_;
  std::size_t bytes_ = 0;
  std::vector<std::byte> poison_;
};

// A hash of memory under a secret key: without the key nobody can write anything else that has it,
// but by chance.
std::uint64_t fingerprint(std::span<const std::byte> memory, std::uint64_t key);

}  // namespace thresher::measure
