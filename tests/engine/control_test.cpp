// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include <gtest/gtest.h>

namespace thresher {
namespace {

TEST(Control, IsSeenInAnyOfItsForms) {
  EXPECT_FALSE(has_control(""));
  EXPECT_FALSE(has_control("4 × 16, “quoted” ~"));
  EXPECT_FALSE(has_control("\xc2\xa0"));
  EXPECT_FALSE(has_control("\xc2"));
  EXPECT_TRUE(has_control(std::string_view("a\0b", 3)));
  for (const char* text : {"a\n", "\x1b[2J", "\x7f",
                           "\xc2\x9b"
                           "2J",
                           "×\t"}) {
    EXPECT_TRUE(has_control(text)) << text;
  }
}

TEST(Control, BecomesSpace) {
  EXPECT_EQ(without_control("a\nb\xc2\x9b"
                            "c × d\xc2\xa0"),
            "a b c × d\xc2\xa0");
  EXPECT_FALSE(has_control(without_control(std::string_view("\0\x1b\x7f", 3))));
}

}  // namespace
}  // namespace thresher
