// SPDX-License-Identifier: Apache-2.0
// Outputs in host memory that notice writes outside of them and elements that nobody wrote: a
// guarded region with memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpu/pages.hpp"
#include "measure/guarded_region.hpp"

namespace thresher::measure {

class GuardedOutputs {
 public:
  GuardedOutputs(const Problem& problem, OutputShape shape)
      : region_(problem, shape), memory_(region_.bytes()) {}

  void poison(std::uint64_t seed);
  // Every bit the opposite of what the last poison had.
  void poison_inverted();

  // Null for groups without rows.
  void* c(std::size_t group_index) const;
  std::int64_t stride_elements(std::size_t group_index) const {
    return region_.stride_elements(group_index);
  }
  std::vector<OutputView> views() const { return region_.views(data()); }

  // All of it, guards and gaps too, for whoever computes on a copy elsewhere.
  std::span<std::byte> bytes() const { return {data(), memory_.bytes()}; }

  // Where something was written outside the outputs since the poison, or nothing.
  std::string find_trespass() const { return region_.find_trespass(data()); }
  // Indices of elements that still have their poison. A right result may have it by chance.
  std::vector<std::size_t> poisoned_elements() const;
  // The bytes of all elements of all groups, row by row.
  std::vector<std::uint8_t> elements() const;
  // "group 1, row 17, column 3" for an index into poisoned_elements() or elements() / element size.
  std::string describe_element(std::size_t element_index) const;

 private:
  std::byte* data() const { return reinterpret_cast<std::byte*>(memory_.data()); }

  GuardedRegion region_;
  cpu::Pages memory_;
};

}  // namespace thresher::measure
