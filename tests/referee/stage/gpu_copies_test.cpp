// SPDX-License-Identifier: Apache-2.0
// The weights of a match, on a driver whose device memory is the host's.
#include "referee/stage/gpu_copies.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "gpu/runtime/fake_driver.hpp"
#include "support/scene.hpp"

namespace thresher::referee {
namespace {

using thresher::testing::make_problem;
using Codes = std::vector<std::uint8_t>;

const Codes& codes_of(const StagedProblem& copy) { return copy.inputs.groups[0].b.codes; }

Codes without_signs(Codes codes) {
  for (std::uint8_t& both : codes) both &= 0x77;
  return codes;
}

class GpuCopiesTest : public ::testing::Test {
 protected:
  GpuCopies make() {
    return GpuCopies(device_, engine_, {{small_, {3, 6}}, {dual_, {2, 2}}}, random_);
  }

  gpu::testing::FakeDriver fake_;
  gpu::Device device_{fake_.driver};
  const Engine engine_{{.thread_count = 1}};
  const Problem small_ = make_problem({3, 0, 5}, 40, 48);
  const Problem dual_ = make_problem({2}, 32, 64, Op::kDual);
  Random random_{1};
};

TEST_F(GpuCopiesTest, EveryProblemHasItsCopies) {
  GpuCopies copies = make();
  ASSERT_EQ(copies.of(0).size(), 3u);
  ASSERT_EQ(copies.of(1).size(), 2u);
  EXPECT_EQ(copies.all().size(), 5u);
  EXPECT_EQ(copies.of(0)[2].problem.groups, small_.groups);
  EXPECT_EQ(copies.of(1)[0].problem.op, Op::kDual);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(copies.all()[i].id, static_cast<int>(i));
}

TEST_F(GpuCopiesTest, EveryTurnMakesOtherWeightsOfTheSameMagnitudes) {
  GpuCopies copies = make();
  copies.turn(random_);
  const std::span<StagedProblem> of_one = copies.of(0);
  const Codes first = codes_of(of_one[0]);
  EXPECT_NE(first, codes_of(of_one[1]));
  EXPECT_EQ(without_signs(first), without_signs(codes_of(of_one[1])));
  copies.turn(random_);
  EXPECT_NE(first, codes_of(of_one[0]));
  EXPECT_EQ(without_signs(first), without_signs(codes_of(of_one[0])));
}

TEST_F(GpuCopiesTest, WhatIsTurnedLiesInBothMemories) {
  GpuCopies copies = make();
  for (int heat = 0; heat < 2; ++heat) {
    copies.turn(random_);
    EXPECT_TRUE(copies.intact());
    for (const StagedProblem& copy : copies.all()) {
      GroupRecord record;
      std::memcpy(&record, copies.stage().arena().data() + copy.table_offset, sizeof record);
      const auto offset = static_cast<std::size_t>(record.b_codes);
      const Codes& codes = codes_of(copy);
      const std::byte* shared = copies.stage().arena().data() + offset;
      const auto* on_device = copies.stage().device_memory().pointer<const std::byte>(offset);
      EXPECT_EQ(std::memcmp(shared, codes.data(), codes.size()), 0);
      EXPECT_EQ(std::memcmp(on_device, codes.data(), codes.size()), 0);
    }
  }
}

TEST_F(GpuCopiesTest, ChangedWeightsOfAnyCopyAreFound) {
  GpuCopies copies = make();
  copies.turn(random_);
  for (const StagedProblem& copy : copies.all()) {
    GroupRecord record;
    std::memcpy(&record, copies.stage().arena().data() + copy.table_offset, sizeof record);
    auto* on_device = copies.stage().device_memory().pointer<std::byte>(
        static_cast<std::size_t>(record.b_scales));
    *on_device ^= std::byte{1};
    EXPECT_FALSE(copies.intact());
    *on_device ^= std::byte{1};
    EXPECT_TRUE(copies.intact());
  }
}

}  // namespace
}  // namespace thresher::referee
