// SPDX-License-Identifier: Apache-2.0
// Room for the outputs of a call in an output arena, and what can be said of them without the
// oracle.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "referee/fault.hpp"
#include "measure/guarded_region.hpp"
#include "referee/stage/stage.hpp"

namespace thresher::referee {

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

}  // namespace thresher::referee
