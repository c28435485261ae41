// SPDX-License-Identifier: Apache-2.0
#include "cluster/program.hpp"

#include <gtest/gtest.h>

namespace thresher::cluster {
namespace {

TEST(Program, IsGivenItsWordsAndTakenAtItsWord) {
  const ProgramResult result =
      run_program({"sh", "-c", "cat; echo \"$1\"; echo why >&2; exit 3", "sh", "a b;c"}, "in ");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "in a b;c\n");
  EXPECT_EQ(result.complaint(), "why");
}

TEST(Program, ThatIsNotThereIsSaid) {
  const ProgramResult result = run_program({"no-such-program-here"});
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_EQ(result.complaint(), "there is no program 'no-such-program-here' on the PATH");
}

TEST(Program, ThatDoesNotAnswerIsEnded) {
  const ProgramResult result = run_program({"sleep", "60"}, {}, 0.1);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.complaint(), "'sleep' did not answer in 0.1 s");
}

TEST(Program, MayLeaveWithoutReadingAndSayMuch) {
  const ProgramResult result =
      run_program({"sh", "-c", "exec <&-; head -c 1000000 /dev/zero"}, std::string(1 << 20, 'x'));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.out.size(), 1000000u);
}

}  // namespace
}  // namespace thresher::cluster
