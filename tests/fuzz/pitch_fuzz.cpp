// SPDX-License-Identifier: Apache-2.0
// Any bytes at all, given to the pitch reader, make a complete pitch or a list of faults, each with
// a place. The entry point is libFuzzer's; tests/fuzz/driver.cpp calls it where libFuzzer is not at
// hand.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assert.hpp"
#include "fuzz/place_and_reason.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/pitch/pitch.hpp"
#include "thresher/error.hpp"

namespace {

void expect_claim(const thresher::Claim& claim) {
  THRESHER_ASSERT(claim.low > 0 && claim.low <= claim.value);
  THRESHER_ASSERT(claim.value <= claim.high && claim.high <= 2e6);
}

void expect_complete(const thresher::Pitch& pitch) {
  THRESHER_ASSERT(!pitch.name.empty() && !pitch.family.empty() && !pitch.suite.empty());
  THRESHER_ASSERT(!pitch.mechanism.empty());
  expect_claim(pitch.claim);
  for (const auto& [problem, claim] : pitch.claim_by_problem) expect_claim(claim);
  // A ledger takes it, and constraints can judge it.
  THRESHER_ASSERT(!thresher::pitch_entry(pitch).dump().empty());
  static const auto constraints = thresher::builtin_constraints();
  thresher::find_veto(pitch, constraints, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto faults = thresher::pitch_faults(text, "fuzz.toml");
  for (const std::string& fault : faults) thresher::testing::expect_place_and_reason(fault);
  if (faults.empty()) expect_complete(thresher::parse_pitch(text, "fuzz.toml"));
  return 0;
}
