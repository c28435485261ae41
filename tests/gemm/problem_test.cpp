// SPDX-License-Identifier: Apache-2.0
#include "thresher/problem.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "nvfp4/error_message.hpp"

namespace thresher {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

Problem problem_of(std::vector<Group> groups) {
  return {"p", Op::kGemm, Activations::kNvfp4, Output::kFp16, std::move(groups)};
}

std::string complaint_about(const Group& group) {
  return nvfp4::error_message([&] { check(problem_of({{1, 1, 16}, group})); });
}

TEST(Problem, AcceptsItsLimits) {
  EXPECT_EQ(complaint_about({0, 1, 16}), "no error");
  EXPECT_EQ(complaint_about({kExtentMax, 1, 16}), "no error");
  EXPECT_EQ(complaint_about({1, kExtentMax, 65536}), "no error");
  EXPECT_EQ(complaint_about({65536, 1, kExtentMax}), "no error");
  EXPECT_EQ(complaint_about({kExtentMax, 65536, 16}), "no error");
}

TEST(Problem, NamesProblemGroupValueAndLimit) {
  EXPECT_EQ(complaint_about({-1, 1, 16}), "problem 'p', group 1: m = -1 is not in 0..16777216");
  EXPECT_EQ(complaint_about({16777217, 1, 16}),
            "problem 'p', group 1: m = 16777217 is not in 0..16777216");
  EXPECT_EQ(complaint_about({1, 0, 16}), "problem 'p', group 1: n = 0 is not in 1..16777216");
  EXPECT_EQ(complaint_about({1, 1, 0}), "problem 'p', group 1: k = 0 is not in 16..16777216");
  EXPECT_EQ(complaint_about({1, 1, 40}), "problem 'p', group 1: k = 40 is not a multiple of 16");
  EXPECT_EQ(complaint_about({65552, 1, kExtentMax}),
            "problem 'p', group 1: A has 65552 x 16777216 elements, more than 1099511627776");
  EXPECT_EQ(complaint_about({0, 65552, kExtentMax}),
            "problem 'p', group 1: B has 65552 x 16777216 elements, more than 1099511627776");
  EXPECT_EQ(complaint_about({kExtentMax, 65537, 16}),
            "problem 'p', group 1: C has 16777216 x 65537 elements, more than 1099511627776");
}

TEST(Problem, DoesNotOverflowOnHugeExtents) {
  EXPECT_EQ(complaint_about({kHuge, kHuge, kHuge}),
            "problem 'p', group 1: m = 9223372036854775807 is not in 0..16777216");
  EXPECT_EQ(complaint_about({std::numeric_limits<std::int64_t>::min(), 1, 16}),
            "problem 'p', group 1: m = -9223372036854775808 is not in 0..16777216");
}

TEST(Problem, LimitsTheNumberOfGroups) {
  EXPECT_EQ(nvfp4::error_message([] { check(problem_of({})); }),
            "problem 'p': groups = 0 is not in 1..65536");
  EXPECT_EQ(nvfp4::error_message([] {
              check(problem_of(std::vector<Group>(65536, {0, 1, 16})));
            }),
            "no error");
  EXPECT_EQ(nvfp4::error_message([] {
              check(problem_of(std::vector<Group>(65537, {0, 1, 16})));
            }),
            "problem 'p': groups = 65537 is not in 1..65536");
}

TEST(Problem, RefusesEnumValuesWithoutAWord) {
  Problem problem = problem_of({{1, 1, 16}});
  problem.op = static_cast<Op>(7);
  EXPECT_EQ(nvfp4::error_message([&] { check(problem); }), "problem 'p': op = 7 is not in 0..1");
  problem.op = Op::kDual;
  problem.activations = static_cast<Activations>(3);
  EXPECT_EQ(nvfp4::error_message([&] { check(problem); }),
            "problem 'p': activations = 3 is not in 0..2");
  problem.activations = Activations::kBf16;
  problem.output = static_cast<Output>(255);
  EXPECT_EQ(nvfp4::error_message([&] { check(problem); }),
            "problem 'p': output = 255 is not in 0..2");
}

TEST(Problem, CountsOperations) {
  Problem problem = problem_of({{2, 3, 16}, {0, 5, 32}, {1, 1, 48}});
  EXPECT_EQ(flop_count(problem), 2.0 * (2 * 3 * 16 + 48));
  problem.op = Op::kDual;
  EXPECT_EQ(flop_count(problem), 4.0 * (2 * 3 * 16 + 48));
  EXPECT_EQ(flop_count(problem_of({{kExtentMax, 65536, 65536}})), 0x1p57);
}

TEST(Problem, WordsGoBothWays) {
  for (const Op op : {Op::kGemm, Op::kDual}) EXPECT_EQ(op_from_string(to_string(op)), op);
  for (const Activations a : {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
    EXPECT_EQ(activations_from_string(to_string(a)), a);
  }
  for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
    EXPECT_EQ(output_from_string(to_string(output)), output);
  }
  EXPECT_EQ(to_string(Op::kDual), "dual");
  EXPECT_EQ(to_string(Activations::kNvfp4), "nvfp4");
  EXPECT_EQ(to_string(Output::kFp32), "fp32");
}

TEST(Problem, UnknownWordsListTheKnownOnes) {
  EXPECT_EQ(nvfp4::error_message([] { op_from_string("conv"); }),
            "op = \"conv\" is none of gemm, dual");
  EXPECT_EQ(nvfp4::error_message([] { activations_from_string(""); }),
            "activations = \"\" is none of nvfp4, fp16, bf16");
  EXPECT_EQ(nvfp4::error_message([] { output_from_string("FP16"); }),
            "output = \"FP16\" is none of fp16, bf16, fp32");
}

TEST(Problem, KnowsHowWideOutputsAre) {
  EXPECT_EQ(bytes_per_element(Output::kFp16), 2);
  EXPECT_EQ(bytes_per_element(Output::kBf16), 2);
  EXPECT_EQ(bytes_per_element(Output::kFp32), 4);
}

}  // namespace
}  // namespace thresher
