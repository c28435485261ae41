// SPDX-License-Identifier: Apache-2.0
#include "arena/flat_source.hpp"

#include <gtest/gtest.h>

namespace thresher::arena {
namespace {

TEST(FlatSource, EveryFileOnceWhereItIsFirstAskedFor) {
  const EmbeddedFile first[] = {{"a.hpp", "#pragma once\n#include \"b.hpp\"\nint a;\n"}};
  const EmbeddedFile second[] = {{"b.hpp", "// SPDX-License-Identifier: Apache-2.0\nint b;\n"}};
  std::set<std::string> seen;
  EXPECT_EQ(flat_source("#include \"a.hpp\"\n#include \"b.hpp\"\n#include \"nobody.hpp\"\nint c;\n",
                        {first, second}, seen),
            "// a.hpp\n// b.hpp\nint b;\nint a;\nint c;\n");
  // What stands in a text before it is not said again.
  EXPECT_EQ(flat_source("#include \"b.hpp\"\nint d;", {first, second}, seen), "int d;\n");
}

TEST(FlatSource, LeavesOutCommentsThatTheArenaRefuses) {
  std::set<std::string> seen;
  EXPECT_EQ(flat_source("int a;\n  // of a stream\n// kept\nint b;\n", {}, seen),
            "int a;\n// kept\nint b;\n");
}

}  // namespace
}  // namespace thresher::arena
