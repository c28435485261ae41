// SPDX-License-Identifier: Apache-2.0
#include "cli/guarded_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "assert.hpp"
#include "gemm/random.hpp"
#include "rounding.hpp"

namespace thresher::cli {
namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::size_t kAlignmentBytes = 64;

}  // namespace

GuardedOutputs::GuardedOutputs(const Problem& problem, OutputLayout layout)
    : groups_(problem.groups),
      element_bytes_(static_cast<std::size_t>(bytes_per_element(problem.output))),
      layout_(layout) {
  const std::size_t misalignment_bytes =
      static_cast<std::size_t>(layout.misalignment_elements) * element_bytes_;
  std::size_t end = 0;  // of what is laid out so far
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::size_t begin = round_up(end + kGuardBytes, kAlignmentBytes) + misalignment_bytes;
    offsets_.push_back(begin);
    guards_.push_back({end, begin, fmt::format("before group {}", g)});
    end = begin;
    if (groups_[g].m == 0) continue;
    add_row_guards(g);
    end = row_offset(g, groups_[g].m - 1) + static_cast<std::size_t>(groups_[g].n) * element_bytes_;
  }
  guards_.push_back({end, end + kGuardBytes, "after the last group"});
  memory_ = cpu::Pages(end + kGuardBytes);
  poison_.resize(memory_.bytes());
}

std::size_t GuardedOutputs::row_offset(std::size_t group_index, std::int64_t row) const {
  return offsets_[group_index] +
         static_cast<std::size_t>(row * stride_elements(group_index)) * element_bytes_;
}

void GuardedOutputs::add_row_guards(std::size_t group_index) {
  if (layout_.row_gap_elements == 0) return;
  const std::size_t row_bytes = static_cast<std::size_t>(groups_[group_index].n) * element_bytes_;
  for (std::int64_t row = 0; row + 1 < groups_[group_index].m; ++row) {
    guards_.push_back({row_offset(group_index, row) + row_bytes, row_offset(group_index, row + 1),
                       fmt::format("behind row {} of group {}", row, group_index)});
  }
}

void GuardedOutputs::poison(std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = 0; i < poison_.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(poison_.data() + i, &word, std::min(sizeof word, poison_.size() - i));
  }
  std::memcpy(memory_.data(), poison_.data(), poison_.size());
}

void GuardedOutputs::poison_inverted() {
  for (std::uint8_t& byte : poison_) byte = static_cast<std::uint8_t>(~byte);
  std::memcpy(memory_.data(), poison_.data(), poison_.size());
}

void* GuardedOutputs::c(std::size_t group_index) const {
  return groups_[group_index].m == 0 ? nullptr : memory_.data() + offsets_[group_index];
}

std::int64_t GuardedOutputs::stride_elements(std::size_t group_index) const {
  return groups_[group_index].n + layout_.row_gap_elements;
}

std::vector<OutputView> GuardedOutputs::views() const {
  std::vector<OutputView> views;
  for (std::size_t g = 0; g < groups_.size(); ++g) views.push_back({c(g), stride_elements(g)});
  return views;
}

std::string GuardedOutputs::find_trespass() const {
  for (const Guard& guard : guards_) {
    for (std::size_t i = guard.begin; i < guard.end; ++i) {
      if (memory_.data()[i] == poison_[i]) continue;
      return fmt::format("wrote outside the outputs: byte {} of the guard band {}", i - guard.begin,
                         guard.where);
    }
  }
  return {};
}

std::vector<std::size_t> GuardedOutputs::poisoned_elements() const {
  std::vector<std::size_t> indices;
  std::size_t index = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::int64_t row = 0; row < groups_[g].m; ++row) {
      std::size_t offset = row_offset(g, row);
      for (std::int64_t column = 0; column < groups_[g].n; ++column, ++index) {
        if (std::memcmp(memory_.data() + offset, poison_.data() + offset, element_bytes_) == 0) {
          indices.push_back(index);
        }
        offset += element_bytes_;
      }
    }
  }
  return indices;
}

std::vector<std::uint8_t> GuardedOutputs::elements() const {
  std::vector<std::uint8_t> bytes;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::size_t row_bytes = static_cast<std::size_t>(groups_[g].n) * element_bytes_;
    for (std::int64_t row = 0; row < groups_[g].m; ++row) {
      const std::uint8_t* begin = memory_.data() + row_offset(g, row);
      bytes.insert(bytes.end(), begin, begin + row_bytes);
    }
  }
  return bytes;
}

std::string GuardedOutputs::describe_element(std::size_t element_index) const {
  auto index = static_cast<std::int64_t>(element_index);
  std::size_t g = 0;
  while (g < groups_.size() && index >= groups_[g].m * groups_[g].n) {
    index -= groups_[g].m * groups_[g].n;
    ++g;
  }
  THRESHER_ASSERT(g < groups_.size());
  return fmt::format("group {}, row {}, column {}", g, index / groups_[g].n, index % groups_[g].n);
}

}  // namespace thresher::cli
