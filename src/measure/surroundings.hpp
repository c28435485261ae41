// SPDX-License-Identifier: Apache-2.0
// What surrounds a call while it is timed, and the one list of words for it: of `bench --timing`,
// of tables, records and verdicts.
#pragma once

#include <cstdint>
#include <string_view>

namespace thresher::measure {

// On a CPU calls follow each other, or are single ones: a foreign call is alone there.
enum class Surroundings : std::uint8_t {
  kForeign,     // a small kernel of somebody else before each call, its own time taken off
  kBackToBack,  // calls follow each other, and may overlap by dependent launch
  kAlone,       // one call at a time, on an idle device
};
std::string_view to_string(Surroundings surroundings);  // "foreign", "back_to_back", "alone"
// Throws Error.
Surroundings surroundings_from_string(std::string_view text);

// For people: "among foreign kernels", "back to back", "single calls".
std::string_view words_of(Surroundings surroundings);

}  // namespace thresher::measure
