// SPDX-License-Identifier: Apache-2.0
// Packed weights: nothing is lost, and little is added.
#include <gtest/gtest.h>

#include <utility>

#include "backend/device.hpp"
#include "gemm/inputs.hpp"
#include "nvfp4/error_message.hpp"
#include "support/on_devices.hpp"
#include "support/scene.hpp"
#include "thresher/engine.hpp"

namespace thresher {
namespace {

using testing::make_problem;

constexpr std::uint64_t kWeightsSeed = 20260402;

// Tails on either side: n around multiples of 16, k around multiples of 64.
constexpr std::int64_t kColumns[] = {1, 15, 16, 17, 33, 64};
constexpr std::int64_t kElements[] = {16, 48, 64, 80, 192, 208};

// All codes and all finite scales, with a global scale of its own for each matrix.
GroupInputs draw(Op op, std::int64_t n, std::int64_t k) {
  return make_inputs(make_problem({1}, n, k, op), InputFamily::kFull, kWeightsSeed).groups[0];
}

void expect_same(const Nvfp4Matrix& unpacked, const Nvfp4Matrix& original) {
  EXPECT_EQ(unpacked.codes, original.codes);
  EXPECT_EQ(unpacked.scales, original.scales);
  EXPECT_EQ(unpacked.rows, original.rows);
  EXPECT_EQ(unpacked.k_elements, original.k_elements);
  EXPECT_EQ(unpacked.global_scale, original.global_scale);
}

class WeightsTest : public testing::OnDevice {};
ON_DEVICES(WeightsTest);

TEST_P(WeightsTest, GiveBackTheVeryBytesOfGemm) {
  for (const std::int64_t n : kColumns) {
    for (const std::int64_t k : kElements) {
      SCOPED_TRACE(::testing::Message()
                   << "n = " << n << ", k = " << k << ", seed " << kWeightsSeed);
      const GroupInputs inputs = draw(Op::kGemm, n, k);
      const Weights weights = engine().pack({.b = inputs.b.view()});
      EXPECT_EQ(weights.op(), Op::kGemm);
      EXPECT_EQ(weights.n(), n);
      EXPECT_EQ(weights.k_elements(), k);
      expect_same(weights.unpack(), inputs.b);
    }
  }
}

TEST_P(WeightsTest, GiveBackTheVeryBytesOfDual) {
  for (const std::int64_t n : kColumns) {
    for (const std::int64_t k : kElements) {
      SCOPED_TRACE(::testing::Message()
                   << "n = " << n << ", k = " << k << ", seed " << kWeightsSeed);
      const GroupInputs inputs = draw(Op::kDual, n, k);
      const Weights weights =
          engine().pack({.op = Op::kDual, .b = inputs.b.view(), .up = inputs.b_up.view()});
      EXPECT_EQ(weights.op(), Op::kDual);
      expect_same(weights.unpack(), inputs.b);
      expect_same(weights.unpack_up(), inputs.b_up);
    }
  }
}

// Where no row or k has to be padded: a GPU's tiles have 128 rows.
TEST_P(WeightsTest, TakeAtMostThreeFifthsOfAByteEach) {
  for (const std::int64_t columns : {16, 48, 256}) {
    const std::int64_t n = is_cpu() ? columns : 8 * columns;
    for (const std::int64_t k : {64, 192, 1024}) {
      const GroupInputs inputs = draw(Op::kDual, n, k);
      const double count = static_cast<double>(n * k);
      const Weights gemm = engine().pack({.b = inputs.b.view()});
      EXPECT_LE(static_cast<double>(gemm.bytes()), 0.60 * count) << n << " x " << k;
      const Weights dual =
          engine().pack({.op = Op::kDual, .b = inputs.b.view(), .up = inputs.b_up.view()});
      EXPECT_LE(static_cast<double>(dual.bytes()), 0.60 * 2 * count) << n << " x " << k;
    }
  }
}

// A checkpoint may hold a matrix without rows. It fits no problem, yet it is no error either.
TEST_P(WeightsTest, MayHaveNoRows) {
  const Weights weights = engine().pack({.b = {.rows = 0, .k_elements = 64}});
  EXPECT_EQ(weights.n(), 0);
  EXPECT_EQ(weights.bytes(), 0u);
  EXPECT_TRUE(weights.unpack().codes.empty());
}

TEST_P(WeightsTest, AreTheSameInAnotherCopy) {
  const GroupInputs inputs = draw(Op::kDual, 17, 80);
  const Weights weights =
      engine().pack({.op = Op::kDual, .b = inputs.b.view(), .up = inputs.b_up.view()});
  const Weights copy = engine().duplicate(weights);
  EXPECT_EQ(copy.op(), Op::kDual);
  EXPECT_EQ(copy.n(), 17);
  EXPECT_EQ(copy.k_elements(), 80);
  EXPECT_EQ(copy.bytes(), weights.bytes());
  EXPECT_NE(copy.state().data(), weights.state().data());
  expect_same(copy.unpack(), inputs.b);
  expect_same(copy.unpack_up(), inputs.b_up);
}

TEST_P(WeightsTest, AreCopiedOnTheirOwnDeviceOnly) {
  const GroupInputs inputs = draw(Op::kGemm, 17, 80);
  const Engine other = other_device();
  const Weights weights = other.pack({.b = inputs.b.view()});
  EXPECT_EQ(nvfp4::error_message([&] { engine().duplicate(weights); }),
            "weights were packed on device '" + other.device() + "' but this engine's is '" +
                engine().device() + "'");
}

TEST_P(WeightsTest, OutliveTheirEngineAndTheirSource) {
  const GroupInputs inputs = draw(Op::kGemm, 17, 80);
  const Weights weights = [&] {
    const Nvfp4Matrix source = inputs.b;
    return Engine(options()).pack({.b = source.view()});
  }();
  expect_same(weights.unpack(), inputs.b);
}

TEST_P(WeightsTest, StayWholeWhenMovedFrom) {
  const GroupInputs inputs = draw(Op::kGemm, 17, 80);
  Weights weights = engine().pack({.b = inputs.b.view()});
  const Weights other = std::move(weights);
  expect_same(weights.unpack(), inputs.b);
  expect_same(other.unpack(), inputs.b);
}

}  // namespace
}  // namespace thresher
