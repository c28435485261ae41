// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>

#include "assert.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 5> kVerdictWords = {"accepted", "rejected", "wrong",
                                                           "invalid", "unclear"};

}  // namespace

std::string to_string(const CallTiming& timing) {
  return fmt::format("{}, {} weights", measure::words_of(timing.calls),
                     timing.cold ? "cold" : "warm");
}

std::string_view to_string(VerdictKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  THRESHER_ASSERT(index < kVerdictWords.size());
  return kVerdictWords[index];
}

VerdictKind verdict_kind_from_string(std::string_view text) {
  for (std::size_t i = 0; i < kVerdictWords.size(); ++i) {
    if (text == kVerdictWords[i]) return static_cast<VerdictKind>(i);
  }
  throw Error(fmt::format("verdict = {:?} is none of {}", text.substr(0, 40),
                          fmt::join(kVerdictWords, ", ")));
}

}  // namespace thresher
