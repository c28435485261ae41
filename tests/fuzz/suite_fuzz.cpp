// SPDX-License-Identifier: Apache-2.0
// Any bytes at all, given to the suite reader, make a valid suite or a thresher::Error with a
// place. The entry point is libFuzzer's; tests/fuzz/driver.cpp calls it where libFuzzer is not at
// hand.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "assert.hpp"
#include "fuzz/place_and_reason.hpp"
#include "gemm/suite.hpp"
#include "thresher/error.hpp"

namespace {

void expect_valid(const thresher::Suite& suite) {
  THRESHER_ASSERT(!suite.name.empty());
  THRESHER_ASSERT(!suite.problems.empty());
  std::set<std::string> names;
  for (const thresher::Problem& problem : suite.problems) {
    check(problem);
    THRESHER_ASSERT(names.insert(problem.name).second);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    expect_valid(thresher::parse_suite(text, "fuzz.toml"));
  } catch (const thresher::Error& error) {
    thresher::testing::expect_place_and_reason(error.what());
  }
  return 0;
}
