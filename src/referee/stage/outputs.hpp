// SPDX-License-Identifier: Apache-2.0
// Room for the outputs of a call in an output arena, and what is wrong with what was put there:
// what can be said without knowing the right values, and what those say who do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/conformance.hpp"
#include "measure/guarded_region.hpp"
#include "measure/witness.hpp"
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

// Where and how the outputs break the arithmetic contract, every element of them, as the witness
// says who has testified of the call's inputs. A result that is wrong goes by `check_name`, results
// that are right one by one and together too far off by `precision`. `where` ends in a word before
// a colon: "in a timed call".
std::optional<Fault> find_wrong_value(const measure::Witness& witness, const Problem& problem,
                                      const std::vector<OutputView>& outputs, Rigour rigour,
                                      const char* check_name, std::string_view where);

// The same of a timed call.
std::optional<Fault> find_timed_fault(const measure::Witness& witness, const Problem& problem,
                                      const std::vector<OutputView>& outputs, InputFamily family);

}  // namespace thresher::referee
