// SPDX-License-Identifier: Apache-2.0
// Any bytes at all, given to the readers of launch descriptions, make an expression with a value in
// range, or an error with a reason. The entry point is libFuzzer's; tests/fuzz/driver.cpp calls it
// where libFuzzer is not at hand.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assert.hpp"
#include "referee/contestant/cuda_expression.hpp"
#include "referee/contestant/cuda_launches.hpp"
#include "thresher/error.hpp"

namespace {

using namespace thresher;

// A line is an input of its own. Some mutations repeat one a million times; that tells no more.
constexpr int kLinesMax = 1000;

const referee::LaunchValues kValues{
    .groups = 8, .m = 248, .m_sum = 1024, .n = 4096, .k = 7168, .sm_count = 132};

void try_expression(std::string_view text) {
  try {
    const referee::LaunchExpression expression(text);
    THRESHER_ASSERT(expression.evaluate(kValues) >= 0);
    THRESHER_ASSERT(expression.evaluate(kValues) ==
                    referee::LaunchExpression(text).evaluate(kValues));
  } catch (const Error& error) {
    THRESHER_ASSERT(!std::string_view(error.what()).empty());
  }
}

void try_launch(std::string_view text) {
  CudaLaunches launches;
  launches.launches.push_back(
      {.kernel = "gemm", .grid = {std::string(text)}, .block = {std::string(text)}});
  const Problem problem{.name = "fuzz", .groups = {{.m = 3, .n = 100, .k = 64}}};
  try {
    for (const auto& planned : referee::plan_launches(launches, problem, 132).launches) {
      THRESHER_ASSERT(planned.shape.block.count() >= 1 && planned.shape.block.count() <= 1024);
      THRESHER_ASSERT(planned.shape.grid.count() >= 1);
    }
    THRESHER_ASSERT(cuda_launches_from_text(to_text(launches)) == launches);
  } catch (const Error& error) {
    THRESHER_ASSERT(!std::string_view(error.what()).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (int i = 0; i < kLinesMax && !rest.empty(); ++i) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    try_expression(line);
    try_launch(line);
  }
  return 0;
}
