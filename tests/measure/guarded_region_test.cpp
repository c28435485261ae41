// SPDX-License-Identifier: Apache-2.0
#include "measure/guarded_region.hpp"

#include <gtest/gtest.h>

#include "support/scene.hpp"

namespace thresher::measure {
namespace {

using thresher::testing::make_problem;

class GuardedRegionTest : public ::testing::Test {
 protected:
  const Problem problem_ = make_problem({3, 0, 4}, 10, 16);  // fp32
  GuardedRegion region_{problem_, {.row_gap_elements = 2, .misalignment_elements = 1}};
  std::vector<std::byte> memory_ = std::vector<std::byte>(region_.bytes());
  Random random_{7};

  void write_all() {
    for (const std::size_t g : {0u, 2u}) {
      for (std::int64_t row = 0; row < problem_.groups[g].m; ++row) {
        for (std::int64_t column = 0; column < 10; ++column) element(g, row, column) = 1.5f;
      }
    }
  }

  float& element(std::size_t g, std::int64_t row, std::int64_t column) {
    return reinterpret_cast<float*>(memory_.data() + region_.offset(g))[row * 12 + column];
  }
};

TEST_F(GuardedRegionTest, LaysGroupsOutAsAsked) {
  EXPECT_EQ(region_.stride_elements(0), 12);
  EXPECT_EQ(region_.offset(0) % 64, 4);
  EXPECT_EQ(region_.offset(2) % 64, 4);
  EXPECT_EQ(region_.views(memory_.data())[1].c, nullptr);
}

TEST_F(GuardedRegionTest, FindsNothingWhenAllWasWritten) {
  region_.poison(memory_.data(), random_);
  write_all();
  EXPECT_EQ(region_.find_trespass(memory_.data()), "");
  EXPECT_EQ(region_.unwritten_count(memory_.data()), 0);
}

TEST_F(GuardedRegionTest, CountsWhatWasNotWritten) {
  region_.poison(memory_.data(), random_);
  EXPECT_EQ(region_.unwritten_count(memory_.data()), 70);
  EXPECT_EQ(region_.find_trespass(memory_.data()), "");
}

TEST_F(GuardedRegionTest, FindsEveryTrespass) {
  region_.poison(memory_.data(), random_);
  write_all();
  const std::vector<std::byte> clean = memory_;
  std::size_t guarded_bytes = 0;
  for (std::size_t at = 0; at < memory_.size(); ++at) {
    memory_ = clean;
    memory_[at] ^= std::byte{1};
    if (!region_.find_trespass(memory_.data()).empty()) ++guarded_bytes;
  }
  EXPECT_EQ(guarded_bytes, memory_.size() - 70 * sizeof(float));
}

TEST_F(GuardedRegionTest, PoisonIsNewEveryTime) {
  region_.poison(memory_.data(), random_);
  const std::vector<std::byte> first = memory_;
  region_.poison(memory_.data(), random_);
  EXPECT_NE(first, memory_);
}

TEST(Fingerprint, ChangesWithEveryByteAndKey) {
  std::vector<std::byte> memory(77, std::byte{3});
  const std::uint64_t before = fingerprint(memory, 1);
  EXPECT_NE(before, fingerprint(memory, 2));
  for (std::byte& byte : memory) {
    byte ^= std::byte{0x80};
    EXPECT_NE(before, fingerprint(memory, 1));
    byte ^= std::byte{0x80};
  }
  EXPECT_EQ(before, fingerprint(memory, 1));
}

// The highest bit of a factor is the highest bit of the product's lower half, whatever the other.
TEST(Fingerprint, NoTwoChangesCancelUnderEveryKey) {
  std::vector<std::uint64_t> words(16, 3);
  for (const std::uint64_t second :
       {std::uint64_t{1} << 63, std::uint64_t{1} << 63 | std::uint64_t{1} << 34}) {
    std::vector<std::uint64_t> changed = words;
    changed[2] ^= std::uint64_t{1} << 63;
    changed[6] ^= second;
    for (std::uint64_t key = 1; key < 100; ++key) {
      EXPECT_NE(fingerprint(std::as_bytes(std::span(words)), key),
                fingerprint(std::as_bytes(std::span(changed)), key));
    }
  }
}

}  // namespace
}  // namespace thresher::measure
