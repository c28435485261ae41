// SPDX-License-Identifier: Apache-2.0
// What make_inputs promises of each family.
#include "gemm/inputs.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "gemm/fp32_model.hpp"
#include "gemm/oracle.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/error_message.hpp"
#include "nvfp4/half.hpp"

namespace thresher {
namespace {

constexpr InputFamily kFamilies[] = {InputFamily::kExact, InputFamily::kNatural,
                                     InputFamily::kFull};
constexpr Activations kActivations[] = {Activations::kNvfp4, Activations::kFp16,
                                        Activations::kBf16};

Problem problem_of(Op op, Activations activations, std::vector<Group> groups) {
  return {"p", op, activations, Output::kFp16, std::move(groups)};
}

TEST(Inputs, HaveTheShapesOfTheProblem) {
  const Problem problem =
      problem_of(Op::kDual, Activations::kNvfp4, {{3, 5, 48}, {0, 7, 16}, {2, 1, 32}});
  for (const InputFamily family : kFamilies) {
    const Inputs inputs = make_inputs(problem, family, 1);
    ASSERT_EQ(inputs.groups.size(), 3u);
    for (std::size_t g = 0; g < 3; ++g) {
      const Group& group = problem.groups[g];
      EXPECT_EQ(inputs.groups[g].a.rows, group.m);
      EXPECT_EQ(inputs.groups[g].b.rows, group.n);
      EXPECT_EQ(inputs.groups[g].b_up.rows, group.n);
      EXPECT_TRUE(inputs.groups[g].a16.empty());
      if (group.m > 0) {
        EXPECT_NO_THROW(check(inputs.groups[g].a.view(), "A"));
      }
      EXPECT_NO_THROW(check(inputs.groups[g].b.view(), "B"));
      EXPECT_NO_THROW(check(inputs.groups[g].b_up.view(), "B up"));
    }
  }
}

TEST(Inputs, OnlyHaveTheOperandsOfTheProblem) {
  const Problem problem = problem_of(Op::kGemm, Activations::kBf16, {{3, 5, 48}});
  const GroupInputs inputs = make_inputs(problem, InputFamily::kNatural, 1).groups[0];
  EXPECT_EQ(inputs.a16.size(), 3u * 48);
  EXPECT_TRUE(inputs.a.codes.empty());
  EXPECT_TRUE(inputs.b_up.codes.empty());
}

TEST(Inputs, RefuseABadProblem) {
  const Problem problem = problem_of(Op::kGemm, Activations::kNvfp4, {{1, 1, 24}});
  EXPECT_EQ(nvfp4::error_message([&] { make_inputs(problem, InputFamily::kFull, 1); }),
            "problem 'p', group 0: k = 24 is not a multiple of 16");
}

// FNV-1a over everything that make_inputs drew.
std::uint64_t fingerprint(const Inputs& inputs) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
  for (const GroupInputs& group : inputs.groups) {
    for (const Nvfp4Matrix* matrix : {&group.a, &group.b, &group.b_up}) {
      for (const std::uint8_t byte : matrix->codes) add(byte);
      for (const std::uint8_t byte : matrix->scales) add(byte);
      add(std::bit_cast<std::uint32_t>(matrix->global_scale));
    }
    for (const std::uint16_t bits : group.a16) add(bits);
    add(std::bit_cast<std::uint32_t>(group.alpha));
    add(std::bit_cast<std::uint32_t>(group.alpha_up));
  }
  return hash;
}

TEST(Inputs, AreTheSameOnEveryMachine) {
  const Problem nvfp4 = problem_of(Op::kDual, Activations::kNvfp4, {{3, 5, 48}, {2, 1, 32}});
  const Problem bf16 = problem_of(Op::kGemm, Activations::kBf16, {{3, 5, 48}});
  EXPECT_EQ(fingerprint(make_inputs(nvfp4, InputFamily::kExact, 7)), 12929649203587697631u);
  EXPECT_EQ(fingerprint(make_inputs(nvfp4, InputFamily::kNatural, 7)), 2705148980047500970u);
  EXPECT_EQ(fingerprint(make_inputs(nvfp4, InputFamily::kFull, 7)), 8902032572747496630u);
  EXPECT_EQ(fingerprint(make_inputs(bf16, InputFamily::kExact, 7)), 5324863820694233988u);
  EXPECT_EQ(fingerprint(make_inputs(bf16, InputFamily::kNatural, 7)), 15887961338029030854u);
  EXPECT_EQ(fingerprint(make_inputs(bf16, InputFamily::kFull, 7)), 4722617577987741718u);
}

TEST(Inputs, DependOnTheSeed) {
  const Problem problem = problem_of(Op::kGemm, Activations::kNvfp4, {{3, 5, 48}});
  EXPECT_NE(fingerprint(make_inputs(problem, InputFamily::kNatural, 1)),
            fingerprint(make_inputs(problem, InputFamily::kNatural, 2)));
}

TEST(Inputs, OfAGroupDoNotDependOnOtherGroups) {
  const Problem two = problem_of(Op::kGemm, Activations::kNvfp4, {{3, 5, 48}, {2, 7, 32}});
  const Problem other = problem_of(Op::kGemm, Activations::kNvfp4, {{9, 1, 16}, {2, 7, 32}});
  EXPECT_EQ(make_inputs(two, InputFamily::kFull, 1).groups[1].b.codes,
            make_inputs(other, InputFamily::kFull, 1).groups[1].b.codes);
}

TEST(Inputs, ExactOnesGiveTheOraclesBitsInAnyOrder) {
  for (const std::int64_t k : {16, 1024, 7168, 8192, 131072}) {
    for (const Activations activations : kActivations) {
      const Problem problem{"p", Op::kGemm, activations, Output::kFp32, {{2, 3, k}, {1, 2, k}}};
      const Inputs inputs = make_inputs(problem, InputFamily::kExact, 3);
      for (const Order order : {Order::kForwards, Order::kBackwards, Order::kPairwise}) {
        const Buffers outputs = fp32_model(problem, inputs, order);
        const Conformance result = check_outputs(problem, inputs, views_of(outputs), Rigour::kBits);
        EXPECT_TRUE(result.ok) << "k " << k << ", " << to_string(activations) << ": "
                               << result.first_failure;
        EXPECT_EQ(result.checked_count, 8);
      }
    }
  }
}

TEST(Inputs, ExactScalesArePowersOfTwo) {
  const Problem problem =
      problem_of(Op::kDual, Activations::kNvfp4, std::vector<Group>(50, {1, 1, 64}));
  std::set<bool> signs;
  for (const GroupInputs& group : make_inputs(problem, InputFamily::kExact, 1).groups) {
    signs.insert(std::signbit(group.alpha));
    for (const float scale : {group.alpha, group.alpha_up, group.a.global_scale,
                              group.b.global_scale, group.b_up.global_scale}) {
      int exponent = 0;
      EXPECT_EQ(std::abs(std::frexp(scale, &exponent)), 0.5f) << scale;
    }
  }
  EXPECT_EQ(signs.size(), 2u);
}

TEST(Inputs, FullOnesHaveEveryCodeAndEveryFiniteScale) {
  const Problem problem = problem_of(Op::kGemm, Activations::kNvfp4, {{64, 64, 1024}});
  const GroupInputs inputs = make_inputs(problem, InputFamily::kFull, 1).groups[0];
  for (const Nvfp4Matrix* matrix : {&inputs.a, &inputs.b}) {
    std::set<int> codes;
    for (const std::uint8_t pair : matrix->codes) codes.insert({pair & 15, pair >> 4});
    const std::set<int> scales(matrix->scales.begin(), matrix->scales.end());
    EXPECT_EQ(codes.size(), 16u);
    EXPECT_EQ(scales.size(), 254u);
    EXPECT_FALSE(scales.contains(0x7f) || scales.contains(0xff));
  }
}

TEST(Inputs, Full16BitOnesReachSubnormalsAndStayFinite) {
  for (const Activations activations : {Activations::kFp16, Activations::kBf16}) {
    const bool is_fp16 = activations == Activations::kFp16;
    const Problem problem = problem_of(Op::kGemm, activations, {{64, 1, 1024}});
    int subnormal_count = 0;
    float largest = 0;
    const Inputs inputs = make_inputs(problem, InputFamily::kFull, 1);
    for (const std::uint16_t bits : inputs.groups[0].a16) {
      const float value = is_fp16 ? nvfp4::fp16_to_float(bits) : nvfp4::bf16_to_float(bits);
      subnormal_count += value != 0 && std::abs(value) < (is_fp16 ? 0x1p-14f : 0x1p-126f);
      largest = std::max(largest, std::abs(value));
    }
    EXPECT_GT(subnormal_count, 0);
    EXPECT_GT(largest, 0x1p15f);
    EXPECT_LT(largest, 0x1p16f);
  }
}

TEST(Inputs, NaturalActivationsHaveDeviationOne) {
  for (const Activations activations : {Activations::kFp16, Activations::kBf16}) {
    const Problem problem = problem_of(Op::kGemm, activations, {{64, 1, 1024}});
    double sum = 0;
    double square = 0;
    const Inputs inputs = make_inputs(problem, InputFamily::kNatural, 1);
    for (const std::uint16_t bits : inputs.groups[0].a16) {
      const float value = activations == Activations::kFp16 ? nvfp4::fp16_to_float(bits)
                                                            : nvfp4::bf16_to_float(bits);
      sum += value;
      square += value * value;
    }
    EXPECT_NEAR(sum / (64 * 1024), 0, 0.02);
    EXPECT_NEAR(square / (64 * 1024), 1, 0.02);
  }
}

TEST(Inputs, ResultsAreWellInsideFp16) {
  for (const InputFamily family : kFamilies) {
    for (const Activations activations : kActivations) {
      const Problem problem =
          problem_of(Op::kGemm, activations, std::vector<Group>(40, {2, 2, 256}));
      const Inputs inputs = make_inputs(problem, family, 1);
      int useful_count = 0;
      for (std::int64_t g = 0; g < 40; ++g) {
        const double value = std::abs(oracle(problem, inputs.groups[g], g, 0, 0).value);
        useful_count += value > 0x1p-10 && value < 65504;
      }
      EXPECT_GE(useful_count, 36) << to_string(family) << ' ' << to_string(activations);
    }
  }
}

TEST(Inputs, GatesReachBothSidesOfSilu) {
  const Problem problem =
      problem_of(Op::kDual, Activations::kNvfp4, std::vector<Group>(40, {2, 2, 256}));
  const Inputs inputs = make_inputs(problem, InputFamily::kNatural, 1);
  Problem gate = problem;
  gate.op = Op::kGemm;
  int bent_count = 0;
  int flat_count = 0;
  for (std::int64_t g = 0; g < 40; ++g) {
    const double value = oracle(gate, inputs.groups[g], g, 0, 0).value;
    bent_count += std::abs(value) < 4;
    flat_count += std::abs(value) > 8;
  }
  EXPECT_GE(bent_count, 8);
  EXPECT_GE(flat_count, 4);
}

TEST(Inputs, FamiliesHaveNames) {
  EXPECT_EQ(to_string(InputFamily::kExact), "exact");
  EXPECT_EQ(to_string(InputFamily::kNatural), "natural");
  EXPECT_EQ(to_string(InputFamily::kFull), "full");
}

}  // namespace
}  // namespace thresher
