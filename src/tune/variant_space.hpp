// SPDX-License-Identifier: Apache-2.0
// The variants of a backend that can run a problem, as a space to search: combinations of what its
// knobs say a search tries, and the engine's choices with all that differ from one in one knob.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "tune/search.hpp"

namespace thresher::tune {

struct VariantSpace {
  Space space;                     // its first knob is the head
  std::vector<std::string> names;  // of the points

  // Where a variant stands; not every variant is a point.
  std::optional<std::size_t> find(const std::string& variant) const;
};

// With the model of time's guesses. Empty where nothing runs the problem.
VariantSpace variant_space(const Backend& backend, const Problem& problem, const Machine& machine);

}  // namespace thresher::tune
