// SPDX-License-Identifier: Apache-2.0
#include "cli/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "cli/commands.hpp"

namespace thresher::cli {
namespace {

template <typename Exception, typename Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(SelectProblems, TakesAllOrThoseNamed) {
  EXPECT_EQ(select_problems({"seeds"}, {}).size(), 4u);
  const std::vector<SelectedProblem> one = select_problems({"seeds", "small"}, {"g2_n4096_k1536"});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one.front().suite, "seeds");
  EXPECT_EQ(one.front().suite_argument, "seeds");
}

TEST(SelectProblems, SaysWhatThereIs) {
  EXPECT_EQ(message_of<UsageError>([] { select_problems({"nope"}, {}); }),
            fmt::format("unknown suite 'nope'; give the path of a .toml file or one of {}",
                        fmt::join(builtin_suite_names(), ", ")));
  const std::string message = message_of<UsageError>([] { select_problems({"seeds"}, {"x"}); });
  EXPECT_TRUE(message.starts_with("no problem 'x' in seeds; there are g8_n4096_k7168")) << message;
}

TEST(SelectProblems, MissingFileIsNotTheArgumentsFault) {
  EXPECT_EQ(message_of<UsageError>([] {
              try {
                select_problems({"/nowhere/x.toml"}, {});
              } catch (const UsageError&) {
                throw;
              } catch (const Error&) {
              }
            }),
            "nothing was thrown");
}

TEST(CheckVariantNames, AcceptsAnyVariantAndNothingElse) {
  EXPECT_NO_THROW(check_variant_names({"cpu_amx", "cpu_avx2:stages=3"}));
  EXPECT_NE(message_of<UsageError>([] { check_variant_names({"gpu"}); }).find("unknown variant"),
            std::string::npos);
}

TEST(Distinct, KeepsTheOrder) {
  EXPECT_EQ(distinct(std::vector{2, 1, 2, 3, 1}), (std::vector{2, 1, 3}));
}

TEST(ShellQuoted, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(shell_quoted("suites/edges.toml"), "suites/edges.toml");
  EXPECT_EQ(shell_quoted("my suite.toml"), "'my suite.toml'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace thresher::cli
