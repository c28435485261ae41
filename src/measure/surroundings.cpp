// SPDX-License-Identifier: Apache-2.0
#include "measure/surroundings.hpp"

#include <array>

#include "thresher/error.hpp"

namespace thresher::measure {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kNames = {"foreign", "back_to_back", "alone"};
constexpr std::array<std::string_view, 3> kWords = {"among foreign kernels", "back to back",
                                                    "single calls"};

}  // namespace

std::string_view to_string(Surroundings surroundings) {
  return kNames[static_cast<std::size_t>(surroundings)];
}

Surroundings surroundings_from_string(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (text == kNames[i]) return static_cast<Surroundings>(i);
  }
  throw Error("surroundings are foreign, back_to_back or alone");
}

std::string_view words_of(Surroundings surroundings) {
  return kWords[static_cast<std::size_t>(surroundings)];
}

}  // namespace thresher::measure
