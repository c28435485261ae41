// SPDX-License-Identifier: Apache-2.0
#include "spelling.hpp"

#include <gtest/gtest.h>

#include <array>

namespace thresher {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"name", "claim", "suite", "claim_by_problem",
                                                    "m"};

TEST(Spelling, CountsSlipsOfTheFinger) {
  EXPECT_EQ(edit_distance("claim", "claim"), 0u);
  EXPECT_EQ(edit_distance("calim", "claim"), 1u) << "a swap is one slip";
  EXPECT_EQ(edit_distance("clam", "claim"), 1u);
  EXPECT_EQ(edit_distance("claiim", "claim"), 1u);
  EXPECT_EQ(edit_distance("clain", "claim"), 1u);
  EXPECT_EQ(edit_distance("", "claim"), 5u);
  EXPECT_EQ(edit_distance("claim", ""), 5u);
}

TEST(Spelling, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest_word("calim", kWords), "claim");
  EXPECT_EQ(nearest_word("suit", kWords), "suite");
  EXPECT_EQ(nearest_word("claimbyproblem", kWords), "claim_by_problem");
  EXPECT_EQ(did_you_mean("nmae", kWords), "; did you mean 'name'?");
}

TEST(Spelling, SuggestsNothingFarFetched) {
  EXPECT_EQ(nearest_word("tile", kWords), "");
  EXPECT_EQ(nearest_word("x", kWords), "") << "any letter is one slip from any other";
  EXPECT_EQ(nearest_word("sxixe", kWords), "") << "two slips in five letters";
  EXPECT_EQ(nearest_word("tpu", std::array<std::string_view, 1>{"cpu"}), "");
  EXPECT_EQ(nearest_word(std::string(1000, 'c'), kWords), "");
  EXPECT_EQ(did_you_mean("frobnicate", kWords), "");
}

}  // namespace
}  // namespace thresher
