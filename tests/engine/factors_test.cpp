// SPDX-License-Identifier: Apache-2.0
// Alpha and the global scales may multiply to something far below the smallest normal float while
// the result is an ordinary number: no bit of it may be lost.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "factor.hpp"
#include "support/on_devices.hpp"
#include "support/scene.hpp"

namespace thresher {
namespace {

using testing::DeviceBytes;

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

TEST(Factors, AreSplitWhereAFloatIsTooCoarse) {
  EXPECT_EQ(split_factor(1.5).main, 1.5f);
  EXPECT_EQ(split_factor(1.5).rest, 1.0f);
  EXPECT_EQ(split_factor(-0x1p-80).rest, 1.0f);
  for (const double tiny : {0x1.8p-140, -0x1.23456p-149, 0.0}) {
    const Factor split = split_factor(tiny);
    EXPECT_EQ(split.rest, 0x1p-100f);
    EXPECT_EQ(static_cast<double>(split.main) * split.rest, tiny);
  }
}

class FactorsTest : public testing::OnDevice {};
ON_DEVICES(FactorsTest);

TEST_P(FactorsTest, TinyOnesKeepTheirPrecision) {
  const Nvfp4Matrix a = largest_values(1);
  const Weights weights = engine().pack({.b = largest_values(3).view()});
  const Problem problem{
      .name = "tiny", .output = Output::kFp32, .groups = {{.m = 1, .n = 3, .k = kK}}};
  const double sum = 2688.0 * 2688.0 * kK;
  const DeviceBytes codes(engine(), a.codes);
  const DeviceBytes scales(engine(), a.scales);
  const DeviceBytes c(engine(), std::vector<std::uint8_t>(3 * sizeof(float)));
  const Rows rows{.a = codes.data(), .a_scales = scales.data(), .c = c.data()};
  for (const std::string& variant : engine().variants()) {
    if (!engine().supports(problem, variant).ok) continue;
    const Plan plan = engine().plan(problem, variant);
    const Workspace workspace = engine().workspace(plan);
    for (const float alpha : {1.0f, 0x1.8p-90f, 0x1.234p-126f, 0x1.5p-140f}) {
      const GroupOperands group{.weights = &weights, .alpha = alpha};
      engine().run(plan, {.groups = {&group, 1}, .rows = rows}, workspace);
      float values[3];
      std::memcpy(values, c.read().data(), sizeof values);
      for (const float value : values) {
        EXPECT_EQ(value, static_cast<float>(sum * static_cast<double>(alpha))) << variant;
      }
    }
  }
}

}  // namespace
}  // namespace thresher
