// SPDX-License-Identifier: Apache-2.0
// The shipped suites hold what their users rely on, and suites are found by name and by path.
#include "gemm/suite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "nvfp4/error_message.hpp"

namespace thresher {
namespace {

const std::filesystem::path kSuitesFolder = THRESHER_SOURCE_DIR "/suites";

std::vector<std::string> names_of(const Suite& suite) {
  std::vector<std::string> names;
  for (const Problem& problem : suite.problems) names.push_back(problem.name);
  return names;
}

std::vector<Group> groups_of(const std::vector<std::int64_t>& m, std::int64_t n, std::int64_t k) {
  std::vector<Group> groups;
  for (const std::int64_t rows : m) groups.push_back({rows, n, k});
  return groups;
}

TEST(Suite, EveryFileIsInsideTheBinary) {
  std::vector<std::string> stems;
  for (const auto& entry : std::filesystem::directory_iterator(kSuitesFolder)) {
    stems.push_back(entry.path().stem().string());
    const Suite from_file = load_suite_file(entry.path());
    const Suite from_binary = load_suite(stems.back());
    EXPECT_EQ(from_file.name, stems.back());
    EXPECT_FALSE(from_file.description.empty());
    EXPECT_EQ(names_of(from_file), names_of(from_binary));
  }
  std::sort(stems.begin(), stems.end());
  EXPECT_EQ(stems, builtin_suite_names());
  EXPECT_EQ(stems,
            (std::vector<std::string>{"decode", "dual", "dual_wide", "edges", "experts", "models",
                                      "seeds", "small", "tank", "tank_cpu", "tank_gpu"}));
}

TEST(Suite, SeedsAreTheFoundingShapes) {
  const Suite suite = load_suite("seeds");
  ASSERT_EQ(names_of(suite), (std::vector<std::string>{"g8_n4096_k7168", "g8_n7168_k2048",
                                                       "g2_n3072_k4096", "g2_n4096_k1536"}));
  EXPECT_EQ(suite.problems[0].groups, groups_of({80, 176, 128, 72, 64, 248, 96, 160}, 4096, 7168));
  EXPECT_EQ(suite.problems[1].groups, groups_of({40, 76, 168, 72, 164, 148, 196, 160}, 7168, 2048));
  EXPECT_EQ(suite.problems[2].groups, groups_of({192, 320}, 3072, 4096));
  EXPECT_EQ(suite.problems[3].groups, groups_of({128, 384}, 4096, 1536));
  for (const Problem& problem : suite.problems) {
    EXPECT_EQ(problem.op, Op::kGemm);
    EXPECT_EQ(problem.activations, Activations::kNvfp4);
    EXPECT_EQ(problem.output, Output::kFp16);
  }
}

TEST(Suite, DualHasOneGroupPerProblem) {
  const Suite suite = load_suite("dual");
  ASSERT_EQ(suite.problems.size(), 4u);
  for (const Problem& problem : suite.problems) EXPECT_EQ(problem.op, Op::kDual);
  EXPECT_EQ(suite.problems[0].groups, groups_of({256}, 4096, 7168));
  EXPECT_EQ(suite.problems[1].groups, groups_of({512}, 4096, 7168));
  EXPECT_EQ(suite.problems[2].groups, groups_of({256}, 3072, 4096));
  EXPECT_EQ(suite.problems[3].groups, groups_of({512}, 3072, 7168));
}

TEST(Suite, DecodeHasFewRowsPerGroup) {
  const Suite suite = load_suite("decode");
  ASSERT_EQ(suite.problems.size(), 4u);
  EXPECT_EQ(suite.problems[0].groups, std::vector<Group>(8, {1, 4096, 7168}));
  EXPECT_EQ(suite.problems[1].groups, std::vector<Group>(8, {16, 4096, 7168}));
  EXPECT_EQ(suite.problems[2].groups, std::vector<Group>(32, {4, 4096, 7168}));
  EXPECT_EQ(suite.problems[3].groups, std::vector<Group>(8, {16, 7168, 2048}));
}

TEST(Suite, EdgesCoverWhatTheyPromise) {
  const Suite suite = load_suite("edges");
  std::set<std::tuple<Op, Activations, Output>> kinds;
  std::set<std::int64_t> m;
  std::set<std::int64_t> n;
  std::set<std::int64_t> k;
  bool has_all_empty = false;
  for (const Problem& problem : suite.problems) {
    kinds.insert({problem.op, problem.activations, problem.output});
    has_all_empty |= flop_count(problem) == 0;
    // The oracle checks all of it: 16 million terms take it about 50 ms.
    EXPECT_LT(flop_count(problem), 32e6) << problem.name;
    for (const Group& group : problem.groups) {
      m.insert(group.m);
      n.insert(group.n);
      k.insert(group.k);
    }
  }
  EXPECT_EQ(kinds.size(), 2u * 3 * 3);
  EXPECT_TRUE(has_all_empty);
  for (const int rows : {0, 1, 7, 8, 9, 15, 16, 17, 31, 33}) EXPECT_TRUE(m.contains(rows)) << rows;
  for (const int columns : {1, 7, 17, 33, 100}) EXPECT_TRUE(n.contains(columns)) << columns;
  for (const int elements : {16, 48, 80, 112}) EXPECT_TRUE(k.contains(elements)) << elements;
}

TEST(Suite, SmallIsSmall) {
  double flops = 0;
  for (const Problem& problem : load_suite("small").problems) flops += flop_count(problem);
  EXPECT_LT(flops, 1e9);
}

TEST(Suite, AnUnknownNameListsTheKnownOnes) {
  EXPECT_EQ(
      nvfp4::error_message([] { load_suite("sedes"); }),
      "unknown suite 'sedes'; give the path of a .toml file or one of decode, dual, dual_wide, "
      "edges, experts, models, seeds, small, tank, tank_cpu, tank_gpu; did you mean 'seeds'?");
}

TEST(Suite, AnUnreadableFileListsTheKnownOnes) {
  EXPECT_EQ(nvfp4::error_message([] { load_suite("mine.toml"); }),
            "cannot read suite 'mine.toml': No such file or directory; suites that need no file: "
            "decode, dual, dual_wide, edges, experts, models, seeds, small, tank, tank_cpu, "
            "tank_gpu");
  EXPECT_EQ(nvfp4::error_message([] { load_suite_file(kSuitesFolder); }),
            "cannot read suite '" + kSuitesFolder.string() +
                "': Is a directory; suites that need no file: decode, dual, dual_wide, edges, "
                "experts, models, seeds, small, tank, tank_cpu, tank_gpu");
}

TEST(Suite, AnEndlessFileEnds) {
  if (!std::filesystem::exists("/dev/zero")) GTEST_SKIP() << "no /dev/zero here";
  EXPECT_EQ(nvfp4::error_message([] { load_suite_file("/dev/zero"); }),
            "/dev/zero:1:1: the file has more than 1048576 bytes");
}

TEST(Suite, ErrorsInAFileNameTheFile) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "thresher_suite_test.toml";
  {
    FILE* file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs("name = 3\n", file);
    std::fclose(file);
  }
  EXPECT_EQ(nvfp4::error_message([&] { load_suite(path.string()); }),
            path.string() + ":1:8: name is an integer; a string is allowed");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace thresher
