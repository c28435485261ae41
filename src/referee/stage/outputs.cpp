// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cpu/side_by_side.hpp"
#include "gemm/random.hpp"

namespace thresher::referee {
namespace {

// The most a region of any shape the gates use can take.
constexpr OutputShape kWidestShape{.row_gap_elements = 16, .misalignment_elements = 16};

constexpr double kWholeMultiplyAddsMax = 1 << 24;
constexpr std::int64_t kSampleCount = 512;
constexpr std::size_t kSamplePieces = 8;  // so many samples of a part of that, side by side
constexpr std::int64_t kTimedSampleCount = 24;

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

std::string find_wrong_value(const StagedProblem& staged, InputFamily family,
                             const std::vector<OutputView>& outputs, std::uint64_t seed) {
  const bool bitwise = compares_bitwise(staged.problem, family);
  const auto failure = [&](std::int64_t sample_count, std::uint64_t piece_seed) {
    return check_outputs(staged.problem, staged.inputs, outputs,
                         {.bitwise = bitwise, .sample_count = sample_count, .seed = piece_seed})
        .first_failure;
  };
  const bool whole = flop_count(staged.problem) / 2 <= kWholeMultiplyAddsMax;
  if (whole) return failure(0, seed);
  std::array<std::string, kSamplePieces> failures;
  cpu::side_by_side(kSamplePieces, [&](std::size_t i) {
    failures[i] = failure(kSampleCount / kSamplePieces, Random(seed, i).next());
  });
  const auto first = std::find_if(failures.begin(), failures.end(),
                                  [](const std::string& text) { return !text.empty(); });
  return first == failures.end() ? std::string() : *first;
}

std::optional<Fault> find_timed_fault(const StagedProblem& staged,
                                      const std::vector<OutputView>& outputs, std::uint64_t seed) {
  const Conformance found = check_outputs(staged.problem, staged.inputs, outputs,
                                          {.sample_count = kTimedSampleCount, .seed = seed});
  if (found.first_failure.empty()) return std::nullopt;
  return wrong(check::kTimedOutput, fmt::format("problem '{}', in a timed call: {}",
                                                staged.problem.name, found.first_failure));
}

}  // namespace thresher::referee
