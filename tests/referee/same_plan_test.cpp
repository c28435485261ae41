// SPDX-License-Identifier: Apache-2.0
#include "referee/same_plan.hpp"

#include <gtest/gtest.h>

#include "referee/quick_match.hpp"

namespace thresher::referee {
namespace {

using thresher::testing::contestant_of_file;
using thresher::testing::make_problem;
using thresher::testing::variant;

using Names = std::vector<std::string>;

Suite plain_and_dual() {
  Suite suite{.name = "both"};
  suite.problems = {make_problem({4}, 32, 64), make_problem({4}, 32, 64, Op::kDual)};
  suite.problems[0].name = "plain";
  suite.problems[1].name = "dual";
  return suite;
}

Names same(const Contestant& champion, const Contestant& challenger) {
  return problems_of_same_plan(champion, challenger, plain_and_dual(), Engine({.thread_count = 1}));
}

TEST(SamePlan, IsWhereAKnobHasNoSay) {
  EXPECT_EQ(same(variant("cpu_portable"), variant("cpu_portable:dual=two_pass")), Names{"plain"});
  EXPECT_EQ(same(variant("cpu_portable:dual=two_pass"), variant("cpu_portable")), Names{"plain"});
}

TEST(SamePlan, IsNotWhereAKnobActs) {
  EXPECT_EQ(same(variant("cpu_portable"), variant("cpu_portable:tile=4x16")), Names{});
}

// A copy is a control: whoever tests the referee with it wants it measured.
TEST(SamePlan, IsNotSaidOfACopy) {
  EXPECT_EQ(same(variant("cpu_portable"), variant("cpu_portable")), Names{});
  const std::string chosen =
      Engine({.thread_count = 1}).plan(plain_and_dual().problems[0]).variant();
  EXPECT_EQ(same(variant(""), variant(chosen)), Names{});
}

TEST(SamePlan, IsNotSaidOfForeignCode) {
  EXPECT_EQ(same(variant(""), contestant_of_file("examples/contestants/plain.c")), Names{});
}

}  // namespace
}  // namespace thresher::referee
