// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/outputs.hpp"

#include <fmt/format.h>

namespace thresher::referee {
namespace {

// The most a region of any shape the gates use can take.
constexpr OutputShape kWidestShape{.row_gap_elements = 16, .misalignment_elements = 16};

}  // namespace

std::int64_t slot_bytes_for(const Problem& problem) {
  const auto bytes = static_cast<std::int64_t>(GuardedRegion(problem, kWidestShape).bytes());
  return (bytes / kAlignmentBytes + 1 + kRegionJitterCount) * kAlignmentBytes;
}

std::vector<OutputPlace> places_in(const GuardedRegion& region, const Problem& problem,
                                   std::int64_t region_offset) {
  std::vector<OutputPlace> places;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    places.push_back(
        {.c = region_offset + region.offset(g), .c_stride = region.stride_elements(g)});
  }
  return places;
}

std::optional<Fault> find_output_fault(const GuardedRegion& region, const std::byte* memory,
                                       const Problem& problem) {
  if (const std::string trespass = region.find_trespass(memory); !trespass.empty()) {
    return invalid(check::kGuard, fmt::format("problem '{}': {}", problem.name, trespass));
  }
  if (const std::int64_t count = region.unwritten_count(memory); count > 0) {
    return wrong(check::kPoison,
                 fmt::format("problem '{}': {} elements were never written", problem.name, count));
  }
  return std::nullopt;
}

Fault changed_activations(const Problem& problem) {
  return invalid(check::kInputs,
                 fmt::format("problem '{}': activations were changed", problem.name));
}

Fault late_write() {
  return invalid(check::kLateWrite, "outputs changed after the answer that they were done");
}

std::optional<Fault> find_wrong_value(const measure::Witness& witness, const Problem& problem,
                                      const std::vector<OutputView>& outputs, Rigour rigour,
                                      const char* check_name, std::string_view where) {
  const Conformance found = witness.judge(problem.output, outputs, rigour);
  if (found.ok) return std::nullopt;
  return wrong(found.failed_count > 0 ? check_name : check::kPrecision,
               fmt::format("problem '{}', {}: {}", problem.name, where, found.first_failure));
}

std::optional<Fault> find_timed_fault(const measure::Witness& witness, const Problem& problem,
                                      const std::vector<OutputView>& outputs, InputFamily family) {
  return find_wrong_value(witness, problem, outputs, rigour_of(problem, family),
                          check::kTimedOutput,
                          fmt::format("{} inputs in a timed call", to_string(family)));
}

}  // namespace thresher::referee
