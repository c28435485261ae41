// SPDX-License-Identifier: Apache-2.0
// Right outputs pass, wrong ones fail, and the message says where.
#include "gemm/conformance.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "gemm/bound.hpp"
#include "gemm/fp32_model.hpp"
#include "gemm/oracle.hpp"
#include "gemm/suite.hpp"
#include "nvfp4/error_message.hpp"

namespace thresher {
namespace {

Problem problem_of(Op op, Output output, std::vector<Group> groups) {
  return {"p", op, Activations::kNvfp4, output, std::move(groups)};
}

// A problem, its inputs and outputs of the FP32 model that a test can spoil.
struct Case {
  Case(Problem p, InputFamily family)
      : problem(std::move(p)),
        inputs(make_inputs(problem, family, 1)),
        buffers(fp32_model(problem, inputs, Order::kForwards)) {}

  std::uint32_t get(std::size_t g, std::int64_t row, std::int64_t column) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &buffers[g][index(g, row, column)], bytes());
    return bits;
  }

  void set(std::size_t g, std::int64_t row, std::int64_t column, std::uint32_t bits) {
    std::memcpy(&buffers[g][index(g, row, column)], &bits, bytes());
  }

  Conformance check(Rigour rigour = Rigour::kBound) const {
    return check_outputs(problem, inputs, views_of(buffers), rigour);
  }

  std::size_t bytes() const { return static_cast<std::size_t>(bytes_per_element(problem.output)); }
  std::size_t index(std::size_t g, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * problem.groups[g].n + column) * bytes();
  }

  Problem problem;
  Inputs inputs;
  Buffers buffers;
};

TEST(Conformance, HonestFp32PassesOnEveryEdgeInEveryOrder) {
  for (const Problem& problem : load_suite("edges").problems) {
    for (const InputFamily family :
         {InputFamily::kExact, InputFamily::kNatural, InputFamily::kFull}) {
      const Inputs inputs = make_inputs(problem, family, 5);
      for (const Order order : {Order::kForwards, Order::kBackwards, Order::kPairwise}) {
        const Buffers outputs = fp32_model(problem, inputs, order);
        const Conformance result =
            check_outputs(problem, inputs, views_of(outputs), rigour_of(problem, family));
        EXPECT_TRUE(result.ok) << problem.name << ", " << to_string(family) << ": "
                               << result.first_failure;
        EXPECT_LE(result.max_error_over_bound, 1) << problem.name << ", " << to_string(family);
      }
    }
  }
}

TEST(Conformance, FourTimesTheBoundFails) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const InputFamily family : {InputFamily::kNatural, InputFamily::kFull}) {
      Case c(problem_of(op, Output::kFp32, {{3, 4, 256}}), family);
      EXPECT_TRUE(c.check().ok);
      const Expected expected = oracle(c.problem, c.inputs.groups[0], 0, 1, 2);
      c.set(0, 1, 2, round_to_output(expected.value + 4 * expected.bound, Output::kFp32));
      const Conformance result = c.check();
      EXPECT_FALSE(result.ok);
      EXPECT_EQ(result.failed_count, 1);
      EXPECT_EQ(result.checked_count, 12);
      EXPECT_NEAR(result.max_error_over_bound, 4, 0.5);
    }
  }
}

TEST(Conformance, OneUlpOffFails) {
  for (const Output output : {Output::kFp16, Output::kBf16}) {
    Case c(problem_of(Op::kGemm, output, {{3, 4, 16}}), InputFamily::kNatural);
    const double value = oracle(c.problem, c.inputs.groups[0], 0, 2, 3).value;
    const std::uint32_t bits = c.get(0, 2, 3);
    // Away from the value: bits grow with the magnitude.
    const bool rounded_up = std::abs(output_value(bits, output)) > std::abs(value);
    c.set(0, 2, 3, rounded_up ? bits + 1 : bits - 1);
    EXPECT_EQ(c.check().failed_count, 1) << to_string(output);
  }
}

TEST(Conformance, NanFailsAndIsInfinitelyWrong) {
  Case c(problem_of(Op::kGemm, Output::kFp16, {{3, 4, 16}}), InputFamily::kNatural);
  c.set(0, 0, 0, 0x7e00);
  const Conformance result = c.check();
  EXPECT_EQ(result.failed_count, 1);
  EXPECT_EQ(result.max_error_over_bound, std::numeric_limits<double>::infinity());
}

TEST(Conformance, BitwiseSeesTheLastBit) {
  for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
    Case c(problem_of(Op::kGemm, output, {{3, 4, 512}}), InputFamily::kExact);
    EXPECT_TRUE(c.check(Rigour::kBits).ok);
    c.set(0, 1, 1, c.get(0, 1, 1) ^ 1);
    EXPECT_EQ(c.check(Rigour::kBits).failed_count, 1) << to_string(output);
  }
}

TEST(Conformance, ZerosOfEitherSignAreEqual) {
  Case c(problem_of(Op::kGemm, Output::kFp16, {{1, 1, 16}}), InputFamily::kExact);
  c.inputs.groups[0].a.codes.assign(8, 0);
  for (const std::uint32_t zero : {0x0000u, 0x8000u}) {
    c.set(0, 0, 0, zero);
    EXPECT_TRUE(c.check(Rigour::kBits).ok);
  }
  c.set(0, 0, 0, 0x0001);
  EXPECT_FALSE(c.check(Rigour::kBits).ok);
}

TEST(Conformance, SaysWhereAndWhatFirst) {
  Case c(problem_of(Op::kGemm, Output::kFp32, {{2, 3, 16}, {20, 5, 16}}), InputFamily::kExact);
  c.inputs.groups[1].a.global_scale = c.inputs.groups[1].b.global_scale = 1;
  c.inputs.groups[1].alpha = 1;
  c.inputs.groups[1].a.codes.assign(20 * 8, 0x00);
  c.inputs.groups[1].a.codes[17 * 8] = 0x02;  // 1.0
  c.inputs.groups[1].a.scales.assign(20, 0x38);
  c.inputs.groups[1].b.codes.assign(5 * 8, 0x11);  // 0.5
  c.inputs.groups[1].b.scales.assign(5, 0x30);     // 0.5
  c.buffers = fp32_model(c.problem, c.inputs, Order::kForwards);
  EXPECT_TRUE(c.check().ok);
  c.set(1, 17, 3, 0x3f000000);
  c.set(1, 18, 0, 0x40400000);  // a lower column, but a later row
  EXPECT_EQ(c.check().first_failure,
            "group 1, row 17, column 3: 0.5 where 0.25 +- 3.73e-07 is right");
  EXPECT_EQ(c.check(Rigour::kBits).first_failure,
            "group 1, row 17, column 3: 0.5 (bits 0x3f000000) where 0.25 (bits 0x3e800000) is "
            "right");
  EXPECT_EQ(c.check().failed_count, 2);
}

TEST(Conformance, ReadsRowsByTheirStride) {
  Case c(problem_of(Op::kGemm, Output::kBf16, {{4, 3, 32}}), InputFamily::kNatural);
  std::vector<std::uint16_t> strided(4 * 7, 0x7fc0);  // NaN between the rows
  for (std::int64_t row = 0; row < 4; ++row) {
    std::memcpy(&strided[static_cast<std::size_t>(row * 7)], &c.buffers[0][c.index(0, row, 0)], 6);
  }
  EXPECT_TRUE(check_outputs(c.problem, c.inputs, {{strided.data(), 7}}, {}).ok);
  EXPECT_FALSE(check_outputs(c.problem, c.inputs, {{strided.data(), 6}}, {}).ok);
}

// Wherever it is, among however many groups.
TEST(Conformance, LooksAtEveryElement) {
  Case c(problem_of(Op::kGemm, Output::kFp16, {{5, 6, 16}, {0, 9, 16}, {3, 4, 16}}),
         InputFamily::kNatural);
  const Buffers right = c.buffers;
  for (const std::size_t g : {std::size_t{0}, std::size_t{2}}) {
    for (std::int64_t row = 0; row < c.problem.groups[g].m; ++row) {
      for (std::int64_t column = 0; column < c.problem.groups[g].n; ++column) {
        c.buffers = right;
        c.set(g, row, column, c.get(g, row, column) ^ 0x4000);
        EXPECT_EQ(c.check().failed_count, 1) << g << ", " << row << ", " << column;
        EXPECT_EQ(c.check().checked_count, 5 * 6 + 3 * 4);
      }
    }
  }
}

// What every element's bound has room for, all of them together have not.
TEST(Conformance, EightBitActivationsAreImprecise) {
  Case c({"p", Op::kGemm, Activations::kBf16, Output::kBf16, {{16, 24, 8192}}},
         InputFamily::kNatural);
  EXPECT_TRUE(c.check(Rigour::kTypical).ok);
  EXPECT_LT(c.check(Rigour::kTypical).mean_square, 1.2);
  Inputs rounded = c.inputs;
  // Six significant bits, which is more than 8-bit formats keep.
  for (std::uint16_t& value : rounded.groups[0].a16) {
    value = static_cast<std::uint16_t>((value + 2) & ~3);
  }
  c.buffers = fp32_model(c.problem, rounded, Order::kForwards);
  EXPECT_TRUE(c.check(Rigour::kBound).ok) << "the bound was never meant for this";
  const Conformance result = c.check(Rigour::kTypical);
  EXPECT_TRUE(result.imprecise);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.failed_count, 0);
  EXPECT_NE(result.first_failure.find("as large, in the root mean square, as FP32 sums"),
            std::string::npos)
      << result.first_failure;
}

// So many that chance has no say any more: the limit is less than a hundredth above the mean that
// is expected, and honest sums stay below it.
TEST(Conformance, AMillionHonestElementsAreAsPreciseAsExpected) {
  for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
    const Case c({"p", Op::kGemm, Activations::kBf16, output, {{1000, 1008, 64}}},
                 InputFamily::kNatural);
    const Conformance found = c.check(Rigour::kTypical);
    SCOPED_TRACE(fmt::format("{}: {:.4f}", to_string(output), found.mean_square));
    EXPECT_EQ(found.checked_count, 1008000);
    EXPECT_LT(found.mean_square_max, 1.01);
    EXPECT_LT(found.mean_square, 1.004);
    EXPECT_TRUE(found.ok) << found.first_failure;
    if (output == Output::kFp32) continue;
    EXPECT_GT(found.mean_square, 0.99) << "one rounding is all there is to see";
  }
}

// A foreign kernel that rounds products to 16 bits before their gate, and the result again.
void round_products(Case& c, Output output) {
  Problem products = c.problem;
  products.op = Op::kGemm;
  products.output = output;
  for (std::size_t g = 0; g < c.problem.groups.size(); ++g) {
    GroupInputs side = c.inputs.groups[g];
    const auto rounded = [&](std::int64_t row, std::int64_t column) {
      const auto group = static_cast<std::int64_t>(g);
      const double value = oracle(products, side, group, row, column).value;
      return output_value(round_to_output(value, output), output);
    };
    for (std::int64_t row = 0; row < c.problem.groups[g].m; ++row) {
      for (std::int64_t column = 0; column < c.problem.groups[g].n; ++column) {
        side = c.inputs.groups[g];
        const double gate = rounded(row, column);
        std::swap(side.b, side.b_up);
        std::swap(side.alpha, side.alpha_up);
        c.set(g, row, column, round_to_output(silu(gate) * rounded(row, column), output));
      }
    }
  }
}

TEST(Conformance, RoundingAgainAndAgainIsJudgedTogether) {
  for (const Output output : {Output::kFp16, Output::kBf16}) {
    SCOPED_TRACE(std::string(to_string(output)));
    Case c(problem_of(Op::kDual, output, {{12, 40, 256}, {0, 4, 32}, {1, 8, 64}}),
           InputFamily::kNatural);
    round_products(c, output);
    EXPECT_FALSE(c.check(Rigour::kTypical).ok) << "the contract allows one rounding";
    const Conformance found = c.check(Rigour::kTogether);
    EXPECT_TRUE(found.ok) << found.first_failure;
    EXPECT_EQ(found.checked_count, 12 * 40 + 8);
    EXPECT_GT(found.max_error_over_bound, 0.1);
    EXPECT_LT(found.max_error_over_bound, 0.7);

    // One element that is another's, far too little to show among all of a larger matrix.
    const Case right = c;
    double largest = 0;
    for (std::int64_t column = 0; column < 40; ++column) {
      const double value = output_value(right.get(0, 7, column), output);
      if (std::abs(value) <= std::abs(largest)) continue;
      largest = value;
      c = right;
      c.set(0, 7, column, round_to_output(0.7 * value, output));
    }
    EXPECT_FALSE(c.check(Rigour::kTogether).ok);
    // A small group that is wrong beside a large one that is right.
    c = right;
    for (std::int64_t column = 0; column < 8; ++column) {
      const double value = output_value(c.get(2, 0, column), output);
      c.set(2, 0, column, round_to_output(1.05 * value, output));
    }
    const Conformance wrong = c.check(Rigour::kTogether);
    EXPECT_FALSE(wrong.ok);
    EXPECT_GT(wrong.max_error_over_bound, 1);
    EXPECT_NE(wrong.first_failure.find("group 2: errors are "), std::string::npos)
        << wrong.first_failure;
    c.set(0, 0, 0, output == Output::kFp16 ? 0x7e00 : 0x7fc0);  // NaN
    EXPECT_FALSE(c.check(Rigour::kTogether).ok);
  }
}

TEST(Conformance, NothingToCheckIsFine) {
  const Problem problem = problem_of(Op::kGemm, Output::kFp16, {{0, 3, 16}, {0, 5, 16}});
  const Inputs inputs = make_inputs(problem, InputFamily::kExact, 1);
  const Conformance result = check_outputs(problem, inputs, {{}, {}}, Rigour::kBits);
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.checked_count, 0);
}

TEST(Conformance, RigourIsWhatInputsAllow) {
  const Problem gemm = problem_of(Op::kGemm, Output::kFp16, {{1, 1, 16}});
  const Problem dual = problem_of(Op::kDual, Output::kFp16, {{1, 1, 16}});
  EXPECT_EQ(rigour_of(gemm, InputFamily::kExact), Rigour::kBits);
  EXPECT_EQ(rigour_of(dual, InputFamily::kExact), Rigour::kSums);
  EXPECT_EQ(rigour_of(gemm, InputFamily::kNatural), Rigour::kTypical);
  EXPECT_EQ(rigour_of(dual, InputFamily::kFull), Rigour::kBound);
}

TEST(Conformance, RefusesWhatDoesNotFit) {
  const Case c(problem_of(Op::kDual, Output::kFp16, {{1, 3, 16}}), InputFamily::kExact);
  const auto complaint = [&](std::vector<OutputView> outputs, Rigour rigour) {
    return nvfp4::error_message([&] { check_outputs(c.problem, c.inputs, outputs, rigour); });
  };
  EXPECT_EQ(complaint(views_of(c.buffers), Rigour::kBits),
            "problem 'p': a dual cannot be compared bit for bit, SiLU is not exact");
  EXPECT_EQ(complaint({{}, {}}, Rigour::kBound),
            "problem 'p': 2 outputs and inputs for 1 groups where it has 1 groups");
  EXPECT_EQ(complaint({{}}, Rigour::kBound), "problem 'p', group 0: the output is null");
  EXPECT_EQ(complaint({{c.buffers[0].data(), 2}}, Rigour::kBound),
            "problem 'p', group 0: rows are 2 elements apart, fewer than n = 3");
}

}  // namespace
}  // namespace thresher
