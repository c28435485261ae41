// SPDX-License-Identifier: Apache-2.0
// Room for the outputs of a call in an output arena, and what is wrong with what was put there:
// what can be said without the oracle, and what the oracle says, asked sparingly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gemm/conformance.hpp"
#include "measure/guarded_region.hpp"
#include "referee/fault.hpp"
#include "referee/stage/stage.hpp"

namespace thresher::referee {

using measure::fingerprint;
using measure::GuardedRegion;
using measure::OutputShape;

// A region begins at one of so many multiples of kAlignmentBytes within its slot.
inline constexpr std::int64_t kRegionJitterCount = 64;

// Enough for a region of any shape the gates use, wherever it begins.
std::int64_t slot_bytes_for(const Problem& problem);

// Where in the arena the groups' outputs go when their region lies at `region_offset`.
std::vector<OutputPlace> places_in(const GuardedRegion& region, const Problem& problem,
                                   std::int64_t region_offset);

// Bytes written outside the outputs, or outputs not written.
std::optional<Fault> find_output_fault(const GuardedRegion& region, const std::byte* memory,
                                       const Problem& problem);

Fault changed_activations(const Problem& problem);
Fault late_write();

// Where and how the outputs break the arithmetic contract, or nothing. All elements of small
// problems are compared, of others as many as the oracle can look at in about the same time.
std::string find_wrong_value(const StagedProblem& staged, InputFamily family,
                             const std::vector<OutputView>& outputs, std::uint64_t seed);

// The same for a timed call: fewer elements, drawn with a seed the contestant cannot know.
std::optional<Fault> find_timed_fault(const StagedProblem& staged,
                                      const std::vector<OutputView>& outputs, std::uint64_t seed);

}  // namespace thresher::referee
