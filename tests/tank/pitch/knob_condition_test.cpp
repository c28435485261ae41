// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/knob_condition.hpp"

#include <gtest/gtest.h>

namespace thresher {
namespace {

TEST(KnobCondition, ComparesNumbersAsNumbers) {
  EXPECT_TRUE(holds("> 1", "16"));
  EXPECT_TRUE(holds(">1", "16")) << "spaces do not matter";
  EXPECT_FALSE(holds("> 9", "9"));
  EXPECT_TRUE(holds(">= 9", "9"));
  EXPECT_TRUE(holds("< 10", "9")) << "and not as text";
  EXPECT_TRUE(holds("<= 9", "9.0"));
  EXPECT_TRUE(holds("= 8", "8.0"));
  EXPECT_FALSE(holds("!= 8", "8"));
}

TEST(KnobCondition, ComparesWordsForEqualityOnly) {
  EXPECT_TRUE(holds("= 64x128", "64x128"));
  EXPECT_FALSE(holds("= 64x128", "64x12"));
  EXPECT_TRUE(holds("!= panel", "direct"));
  EXPECT_FALSE(holds("> 1", "direct"));
  EXPECT_FALSE(holds("< 1", "direct"));
  EXPECT_FALSE(holds("not a multiple of 8", "direct"));
}

TEST(KnobCondition, KnowsMultiples) {
  EXPECT_FALSE(holds("not a multiple of 8", "64"));
  EXPECT_TRUE(holds("not a multiple of 8", "100"));
  EXPECT_FALSE(holds("not a multiple of 8", "0"));
}

TEST(KnobCondition, JoinsByAnd) {
  EXPECT_TRUE(holds("!= 128 and != 256", "64"));
  EXPECT_FALSE(holds("!= 128 and != 256", "128"));
  EXPECT_FALSE(holds("!= 128 and != 256", "256"));
}

TEST(KnobCondition, RefusesWhatIsNone) {
  for (const char* text : {"= 1", ">=1", "!= a b", "not a multiple of 8", "> 1 and < 3"}) {
    EXPECT_EQ(fault_of_condition(text), "") << text;
  }
  for (const char* text :
       {"", "1", "many", ">", "> many", "= ", "not a multiple of", "not a multiple of 0",
        "not a multiple of x", "> 1 and", "> 1 or < 3 and"}) {
    EXPECT_NE(fault_of_condition(text), "") << text;
  }
  EXPECT_EQ(fault_of_condition("many"),
            "\"many\" is no condition; such as '= sequence', '> 1', '!= 128 and != 256' or 'not a "
            "multiple of 8' is allowed");
}

}  // namespace
}  // namespace thresher
