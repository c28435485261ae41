// SPDX-License-Identifier: Apache-2.0
// Every complaint of the suite reader: its text, its place, and that docs/suites.md has it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "gemm/suite.hpp"
#include "nvfp4/error_message.hpp"

namespace thresher {
namespace {

std::string complaint_about(std::string_view toml) {
  return nvfp4::error_message([&] { parse_suite(toml, "x.toml"); });
}

// A suite whose only problem starts in line 2; `lines` follow its header.
std::string with_problem(std::string_view lines) {
  return fmt::format("name = \"s\"\n[[problem]]\n{}", lines);
}

std::string documentation() {
  std::ifstream file(THRESHER_SOURCE_DIR "/docs/suites.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Complaint {
  std::string toml;
  std::string place;  // line:column
  std::string text;
};

std::vector<Complaint> complaints() {
  const auto in_name = [](std::string_view value) {
    return with_problem(fmt::format("name = {}\nm = 1\nn = 1\nk = 16", value));
  };
  const auto in_extents = [](std::string_view lines) {
    return with_problem(fmt::format("name = \"a\"\n{}", lines));
  };
  return {
      {with_problem("name = \"a\"\ntile = 3"), "4:1",
       "unknown key \"tile\"; a problem has name, op, activations, output, groups, m, n, k"},
      {"nmae = \"s\"", "1:1",
       "unknown key \"nmae\"; a suite has name, description, problem; did you mean 'name'?"},
      {"description = \"d\"", "1:1", "the suite has no name"},
      {"name = \"s\"", "1:1", "the suite has no [[problem]]"},
      {"name = \"s\"\n[problem]\n", "2:1", "problem is a table; [[problem]] tables are allowed"},
      {with_problem("m = 1\nn = 1\nk = 16"), "2:1", "the problem has no name"},
      {in_extents("m = 1\nn = 1"), "2:1", "the problem has no k"},
      {in_name("\"two words\""), "3:8",
       "\"two words\" is not a name; 1 to 64 letters, digits, '_', '-' and '.' are allowed"},
      {in_name("\"a\"") + "\n[[problem]]\nname = \"a\"\nm = 1\nn = 1\nk = 16", "7:1",
       "the name \"a\" is taken by the problem in line 2"},
      {"name = \"s\"\ndescription = \"a\\nb\"", "2:15",
       "description has a control character; one line of text is allowed"},
      {in_name("7"), "3:8", "name is an integer; a string is allowed"},
      {in_extents("op = \"conv\""), "4:6", "op = \"conv\" is none of gemm, dual"},
      {in_extents("m = \"1\""), "4:5",
       "m is a string; an integer or an array of integers is allowed"},
      {in_extents("m = 1\nn = [1, 2.5]"), "5:9", "n is a float; an array holds integers"},
      {in_extents("groups = true\nm = 1\nn = 1\nk = 16"), "4:10",
       "groups is a boolean; an integer is allowed"},
      {in_extents("m = [1, -1]"), "4:9", "m = -1 is not in 0..16777216"},
      {in_extents("m = 1\nn = 0"), "5:5", "n = 0 is not in 1..16777216"},
      {in_extents("m = 1\nn = 1\nk = 0"), "6:5", "k = 0 is not in 16..16777216"},
      {in_extents("m = 1\nn = 1\nk = 40"), "6:5", "k = 40 is not a multiple of 16"},
      {in_extents("m = 1\nn = 1\nk = 16\ngroups = 65537"), "7:10",
       "groups = 65537 is not in 1..65536"},
      {in_extents("m = [1]\nn = 1\nk = 16\ngroups = 1"), "7:10",
       "groups beside an array of m; the array already has one value per group"},
      {in_extents("m = [1, 2]\nn = 1\nk = [16, 16, 16]"), "6:5",
       "k has 3 values where there are 2 groups"},
      {in_extents("m = 1\nn = 16777216\nk = 16777216"), "2:1",
       "problem 'a', group 0: B has 16777216 x 16777216 elements, more than 1099511627776"},
      {std::string(kSuiteBytesMax + 1, ' '), "1:1", "the file has more than 1048576 bytes"},
      {"\n#" + std::string(5000, '.'), "2:4098", "the file has more than 4096 dots"},
  };
}

TEST(SuiteParser, ComplainsWithPlaceAndReason) {
  for (const Complaint& complaint : complaints()) {
    EXPECT_EQ(complaint_about(complaint.toml),
              fmt::format("x.toml:{}: {}", complaint.place, complaint.text));
  }
}

TEST(SuiteParser, DocumentsEveryComplaint) {
  const std::string text = documentation();
  for (const Complaint& complaint : complaints()) {
    EXPECT_NE(text.find(fmt::format("`{}`", complaint.text)), std::string::npos) << complaint.text;
  }
}

TEST(SuiteParser, NamesEveryWordItKnows) {
  EXPECT_EQ(complaint_about(with_problem("name = \"a\"\nactivations = \"fp8\"")),
            "x.toml:4:15: activations = \"fp8\" is none of nvfp4, fp16, bf16");
  EXPECT_EQ(complaint_about(with_problem("name = \"a\"\noutput = \"fp8\"")),
            "x.toml:4:10: output = \"fp8\" is none of fp16, bf16, fp32");
}

TEST(SuiteParser, RefusesArraysOfGroupsThatAreEmptyOrTooLong) {
  EXPECT_EQ(complaint_about(with_problem("name = \"a\"\nm = []\nn = 1\nk = 16")),
            "x.toml:4:5: groups = 0 is not in 1..65536");
  std::string many = "1";
  for (int i = 0; i < 65536; ++i) many += ",1";
  EXPECT_EQ(complaint_about(with_problem("name = \"a\"\nm = [" + many + "]\nn = 1\nk = 16")),
            "x.toml:4:5: groups = 65537 is not in 1..65536");
}

TEST(SuiteParser, LimitsProblemsAndGroupsOfASuite) {
  std::string text = "name = \"s\"\n";
  const auto add = [&](int index, int groups) {
    text += fmt::format("[[problem]]\nname = \"p{}\"\ngroups = {}\nm = 0\nn = 1\nk = 16\n", index,
                        groups);
  };
  for (int i = 0; i < 1024; ++i) add(i, 1);
  EXPECT_EQ(complaint_about(text), "no error");
  add(1024, 1);
  EXPECT_EQ(complaint_about(text), "x.toml:6146:1: more than 1024 problems");

  text = "name = \"s\"\n";
  for (int i = 0; i < 4; ++i) add(i, 65536);
  EXPECT_EQ(complaint_about(text), "no error");
  add(4, 1);
  EXPECT_EQ(complaint_about(text), "x.toml:26:1: more than 262144 groups in all");
}

TEST(SuiteParser, PassesOnTheTomlParsersComplaint) {
  const std::string complaint = complaint_about("name = \"s\"\nm = = 3");
  EXPECT_EQ(complaint.substr(0, 12), "x.toml:2:5: ") << complaint;
  EXPECT_GT(complaint.size(), 20u);
}

TEST(SuiteParser, SurvivesDeepNesting) {
  std::string arrays = "a = ";
  std::string tables = "[a";
  for (int i = 0; i < 200000; ++i) arrays += '[';
  for (int i = 0; i < 4000; ++i) tables += ".a";
  EXPECT_NE(complaint_about(arrays).find("nested"), std::string::npos);
  EXPECT_NE(complaint_about(tables + "]\n").find("unknown key \"a\""), std::string::npos);
}

TEST(SuiteParser, ShortensAndEscapesTextFromTheFile) {
  const std::string name(100000, 'x');
  EXPECT_LT(complaint_about(with_problem("name = \"" + name + "\"")).size(), 200u);
  EXPECT_LT(complaint_about(with_problem("name = \"a\"\nop = \"" + name + "\"")).size(), 200u);
  EXPECT_NE(complaint_about(with_problem("\"a\\u001b\" = 1")).find("\\x1b"), std::string::npos);
}

TEST(SuiteParser, FillsInDefaults) {
  const Suite suite = parse_suite(with_problem("name = \"a\"\nm = 3\nn = 5\nk = 16"), "x.toml");
  EXPECT_EQ(suite.name, "s");
  EXPECT_EQ(suite.description, "");
  ASSERT_EQ(suite.problems.size(), 1u);
  const Problem& problem = suite.problems[0];
  EXPECT_EQ(problem.name, "a");
  EXPECT_EQ(problem.op, Op::kGemm);
  EXPECT_EQ(problem.activations, Activations::kNvfp4);
  EXPECT_EQ(problem.output, Output::kFp16);
  EXPECT_EQ(problem.groups, (std::vector<Group>{{3, 5, 16}}));
}

TEST(SuiteParser, SpreadsIntegersOverGroups) {
  const Suite suite = parse_suite(
      with_problem("name = \"a\"\nop = \"dual\"\nactivations = \"bf16\"\noutput = \"fp32\"\n"
                   "groups = 3\nm = 2\nn = [1, 2, 3]\nk = 32"),
      "x.toml");
  const Problem& problem = suite.problems[0];
  EXPECT_EQ(problem.op, Op::kDual);
  EXPECT_EQ(problem.activations, Activations::kBf16);
  EXPECT_EQ(problem.output, Output::kFp32);
  EXPECT_EQ(problem.groups, (std::vector<Group>{{2, 1, 32}, {2, 2, 32}, {2, 3, 32}}));
}

TEST(SuiteParser, ReadsTheExampleInTheDocumentation) {
  const std::string text = documentation();
  const std::size_t begin = text.find("```toml\n") + 8;
  const Suite suite = parse_suite(text.substr(begin, text.find("```", begin) - begin), "suites.md");
  EXPECT_EQ(suite.name, "my_layer");
  ASSERT_EQ(suite.problems.size(), 2u);
  EXPECT_EQ(suite.problems[0].groups.size(), 8u);
  EXPECT_EQ(suite.problems[1].groups, (std::vector<Group>(8, {16, 2048, 7168})));
}

}  // namespace
}  // namespace thresher
