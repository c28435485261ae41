// SPDX-License-Identifier: Apache-2.0
#include "referee/values.hpp"

#include <fmt/format.h>

namespace thresher::referee {
namespace {

constexpr double kWholeMultiplyAddsMax = 1 << 24;
constexpr std::int64_t kSampleCount = 512;
constexpr std::int64_t kTimedSampleCount = 24;

}  // namespace

std::string find_wrong_value(const StagedProblem& staged, InputFamily family,
                             const std::vector<OutputView>& outputs, std::uint64_t seed) {
  const bool whole = flop_count(staged.problem) / 2 <= kWholeMultiplyAddsMax;
  const Conformance found = check_outputs(staged.problem, staged.inputs, outputs,
                                          {.bitwise = compares_bitwise(staged.problem, family),
                                           .sample_count = whole ? 0 : kSampleCount,
                                           .seed = seed});
  return found.first_failure;
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
