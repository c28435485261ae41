// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <gtest/gtest.h>

namespace thresher::cli {
namespace {

const std::string kLong = "[1/4] " + std::string(200, 'x') + " the end";

TEST(Progress, ALineOnATerminalEndsBeforeTheEdge) {
  EXPECT_EQ(drawn_line(kLong, true, 80), "\r\033[K" + kLong.substr(0, 79));
  EXPECT_EQ(drawn_line("short", true, 80), "\r\033[Kshort");
}

TEST(Progress, ALineInAFileIsWhole) { EXPECT_EQ(drawn_line(kLong, false, 80), kLong + '\n'); }

}  // namespace
}  // namespace thresher::cli
