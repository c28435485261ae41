// SPDX-License-Identifier: Apache-2.0
#include "measure/guarded_outputs.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace thresher::measure {
namespace {

Problem two_groups() {
  Problem problem;
  problem.output = Output::kFp16;
  problem.groups = {
      {.m = 2, .n = 3, .k = 16}, {.m = 0, .n = 8, .k = 16}, {.m = 4, .n = 5, .k = 16}};
  return problem;
}

std::uint8_t* bytes_of(const GuardedOutputs& outputs, std::size_t group_index) {
  return static_cast<std::uint8_t*>(outputs.c(group_index));
}

TEST(GuardedOutputs, LayOutGroupsAsAsked) {
  const GuardedOutputs dense(two_groups(), {});
  EXPECT_EQ(dense.stride_elements(0), 3);
  EXPECT_EQ(dense.c(1), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(dense.c(2)) % 64, 0u);

  const GuardedOutputs odd(two_groups(), {.row_gap_elements = 2, .misalignment_elements = 1});
  EXPECT_EQ(odd.stride_elements(2), 7);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(odd.c(2)) % 64, 2u);
}

TEST(GuardedOutputs, AllowEveryWriteInside) {
  GuardedOutputs outputs(two_groups(), {.row_gap_elements = 2});
  outputs.poison(1);
  for (int row = 0; row < 4; ++row) std::memset(bytes_of(outputs, 2) + row * 14, 0, 10);
  EXPECT_EQ(outputs.find_trespass(), "");
}

// A guard that is not poisoned with the very byte written notices; so try both values of a bit.
TEST(GuardedOutputs, NoticeAnyByteOutside) {
  GuardedOutputs outputs(two_groups(), {.row_gap_elements = 2});
  struct Trespass {
    std::size_t group_index;
    std::ptrdiff_t offset;
    const char* where;
  };
  for (const Trespass& trespass :
       {Trespass{0, -1, "before the first output"}, Trespass{0, -200, "before the first output"},
        Trespass{0, 6, "between outputs"}, Trespass{0, 9, "between outputs"},
        Trespass{0, 16, "between outputs"}, Trespass{2, -1, "between outputs"},
        Trespass{2, 52, "behind the last output"},
        Trespass{2, 52 + 255, "behind the last output"}}) {
    outputs.poison(7);
    bytes_of(outputs, trespass.group_index)[trespass.offset] ^= 1;
    EXPECT_NE(outputs.find_trespass().find(trespass.where), std::string::npos)
        << "byte " << trespass.offset << " of group " << trespass.group_index << ": "
        << outputs.find_trespass();
  }
}

TEST(GuardedOutputs, KnowWhatKeptItsPoison) {
  GuardedOutputs outputs(two_groups(), {});
  outputs.poison(3);
  EXPECT_EQ(outputs.poisoned_elements().size(), 2u * 3 + 4 * 5);
  bytes_of(outputs, 2)[2 * 7] ^= 1;  // element 7 of group 2: row 1, column 2
  const std::vector<std::size_t> poisoned = outputs.poisoned_elements();
  EXPECT_EQ(poisoned.size(), 25u);
  EXPECT_EQ(std::count(poisoned.begin(), poisoned.end(), 6u + 7u), 0);
  EXPECT_EQ(outputs.describe_element(6 + 7), "group 2, row 1, column 2");
}

TEST(GuardedOutputs, InvertThePoison) {
  GuardedOutputs outputs(two_groups(), {});
  outputs.poison(3);
  const std::vector<std::uint8_t> before = outputs.elements();
  outputs.poison_inverted();
  const std::vector<std::uint8_t> after = outputs.elements();
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i] ^ after[i], 0xff);
}

}  // namespace
}  // namespace thresher::measure
