// SPDX-License-Identifier: Apache-2.0
#include "measure/guarded_outputs.hpp"

#include <fmt/format.h>

#include <cstring>

#include "assert.hpp"

namespace thresher::measure {

void GuardedOutputs::poison(std::uint64_t seed) {
  Random random(seed);
  region_.poison(data(), random);
}

void GuardedOutputs::poison_inverted() {
  std::memcpy(data(), region_.invert_poison().data(), region_.bytes());
}

void* GuardedOutputs::c(std::size_t group_index) const {
  if (region_.groups()[group_index].m == 0) return nullptr;
  return data() + region_.offset(group_index);
}

std::vector<std::size_t> GuardedOutputs::poisoned_elements() const {
  std::vector<std::size_t> indices;
  std::size_t index = 0;
  const std::size_t element_bytes = region_.element_bytes();
  region_.for_each_row([&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += element_bytes, ++index) {
      if (std::memcmp(data() + at, region_.poison_at(at), element_bytes) == 0) {
        indices.push_back(index);
      }
    }
  });
  return indices;
}

std::vector<std::uint8_t> GuardedOutputs::elements() const {
  std::vector<std::uint8_t> bytes;
  region_.for_each_row([&](std::size_t begin, std::size_t end) {
    bytes.insert(bytes.end(), memory_.data() + begin, memory_.data() + end);
  });
  return bytes;
}

std::string GuardedOutputs::describe_element(std::size_t element_index) const {
  auto index = static_cast<std::int64_t>(element_index);
  const std::vector<Group>& groups = region_.groups();
  std::size_t g = 0;
  while (g < groups.size() && index >= groups[g].m * groups[g].n) {
    index -= groups[g].m * groups[g].n;
    ++g;
  }
  THRESHER_ASSERT(g < groups.size());
  return fmt::format("group {}, row {}, column {}", g, index / groups[g].n, index % groups[g].n);
}

}  // namespace thresher::measure
