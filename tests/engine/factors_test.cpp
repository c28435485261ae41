// SPDX-License-Identifier: Apache-2.0
// Alpha and the global scales may multiply to something far below the smallest normal float while
// the result is an ordinary number: no bit of it may be lost.
#include <gtest/gtest.h>

#include <vector>

#include "thresher/engine.hpp"

namespace thresher {
namespace {

constexpr std::int64_t kK = 64;

// 1 x k and n x k matrices of 6 * 448 everywhere: each product is 2688^2, the sum is exact in FP32.
Nvfp4Matrix largest_values(std::int64_t rows) {
  Nvfp4Matrix matrix;
  matrix.rows = rows;
  matrix.k_elements = kK;
  matrix.codes.assign(static_cast<std::size_t>(rows * kK / 2), 0x77);
  matrix.scales.assign(static_cast<std::size_t>(rows * kK / kBlockElements), 0x7e);
  return matrix;
}

TEST(Factors, TinyOnesKeepTheirPrecision) {
  const Engine engine({.thread_count = 1});
  const Nvfp4Matrix a = largest_values(1);
  const Nvfp4Matrix b = largest_values(3);
  const Weights weights = engine.pack(b.view());
  const double sum = 2688.0 * 2688.0 * kK;
  for (const float alpha : {1.0f, 0x1.8p-90f, 0x1.234p-126f, 0x1.5p-140f}) {
    for (const std::string& variant : engine.variants()) {
      const Problem problem{
          .name = "tiny", .output = Output::kFp32, .groups = {{.m = 1, .n = 3, .k = kK}}};
      if (!engine.supports(problem, variant).ok) continue;
      const Plan plan = engine.plan(problem, variant);
      Workspace workspace(plan);
      std::vector<float> c(3);
      const std::vector<GroupOperands> operands = {
          {.a = a.view(), .weights = &weights, .c = c.data(), .alpha = alpha}};
      engine.run(plan, operands, workspace);
      for (const float value : c) {
        EXPECT_EQ(value, static_cast<float>(sum * static_cast<double>(alpha))) << variant;
      }
    }
  }
}

}  // namespace
}  // namespace thresher
