// SPDX-License-Identifier: Apache-2.0
// What the outputs of a call should be: the oracle, asked sparingly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gemm/conformance.hpp"
#include "referee/fault.hpp"
#include "referee/stage/stage.hpp"

namespace thresher::referee {

// Where and how the outputs break the arithmetic contract, or nothing. All elements of small
// problems are compared, of others as many as the oracle can look at in about the same time.
std::string find_wrong_value(const StagedProblem& staged, InputFamily family,
                             const std::vector<OutputView>& outputs, std::uint64_t seed);

// The same for a timed call: fewer elements, drawn with a seed the contestant cannot know.
std::optional<Fault> find_timed_fault(const StagedProblem& staged,
                                      const std::vector<OutputView>& outputs, std::uint64_t seed);

}  // namespace thresher::referee
