// SPDX-License-Identifier: Apache-2.0
// Honest outputs pass, of every kind and in every order of sums; one wrong element does not, and
// neither do outputs that are right one by one and imprecise together. The same on every device.
#include "measure/witness.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "cpu/features.hpp"
#include "gemm/fp32_model.hpp"
#include "gemm/random.hpp"
#include "support/on_devices.hpp"
#include "support/scene.hpp"
#include "thresher/error.hpp"

namespace thresher::measure {
namespace {

using thresher::testing::make_problem;

constexpr WitnessOptions kNoOracle{.seed = 3, .oracle_steps_max = 0};
constexpr InputFamily kEveryFamily[] = {InputFamily::kExact, InputFamily::kNatural,
                                        InputFamily::kFull};

Conformance judge(const Witness& witness, const Problem& problem, const Buffers& buffers,
                  InputFamily family) {
  return witness.judge(problem.output, views_of(buffers), rigour_of(problem, family));
}

class WitnessOn : public thresher::testing::OnDevice {};

TEST_P(WitnessOn, BelievesHonestOutputsOfEveryKind) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      for (const InputFamily family : kEveryFamily) {
        Problem problem = make_problem({5, 0, 9}, 72, 256, op, activations);
        const Inputs inputs = make_inputs(problem, family, 7);
        Witness witness(engine(), problem, inputs, kNoOracle);
        witness.testify(inputs);
        for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
          problem.output = output;
          const Buffers buffers = fp32_model(problem, inputs, Order::kBackwards);
          const Conformance found = judge(witness, problem, buffers, family);
          EXPECT_TRUE(found.ok) << to_string(op) << ", " << to_string(activations) << ", "
                                << to_string(family) << ", " << to_string(output) << ": "
                                << found.first_failure;
          EXPECT_EQ(found.checked_count, 14 * 72);
          EXPECT_LE(found.max_error_over_bound, 1);
          if (family != InputFamily::kNatural || output == Output::kFp32) continue;
          EXPECT_LT(found.mean_square, 1.2) << "what is expected is what there is";
          EXPECT_GT(found.mean_square, 0.6);
        }
      }
    }
  }
}
ON_DEVICES(WitnessOn);

// Sums of AMX come in an order that no other body has, and that the witness did not use: it has
// the choice for few rows. FP32 outputs, so that no rounding hides how a sum was made.
TEST(Witness, BelievesAmx) {
  if (!cpu::can_run(cpu::Isa::kAmx)) GTEST_SKIP() << "this CPU has no AMX";
  const Engine engine({.thread_count = 2});
  for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
    for (const InputFamily family : {InputFamily::kExact, InputFamily::kNatural}) {
      thresher::testing::Scene scene(
          engine, make_problem({9, 1}, 96, 4096, Op::kGemm, activations, Output::kFp32), family);
      scene.run(engine, "cpu_amx");
      std::vector<std::uint8_t> bytes = scene.output_bytes();
      const std::vector<OutputView> outputs = {
          {.c = bytes.data(), .stride_elements = 96},
          {.c = bytes.data() + std::size_t{9} * 96 * 4, .stride_elements = 96}};
      Witness witness(engine, scene.problem(), scene.inputs(), kNoOracle);
      witness.testify(scene.inputs());
      const Conformance found =
          witness.judge(Output::kFp32, outputs, rigour_of(scene.problem(), family));
      EXPECT_TRUE(found.ok && !found.imprecise)
          << to_string(activations) << ", " << to_string(family) << ": " << found.first_failure;
      EXPECT_LT(found.mean_square, 1.2) << to_string(activations);
    }
  }
}

class WitnessTest : public ::testing::Test {
 protected:
  void use(Problem problem, InputFamily family) {
    problem_ = std::move(problem);
    family_ = family;
    inputs_ = make_inputs(problem_, family, 11);
    witness_.emplace(engine_, problem_, inputs_, kNoOracle);
    witness_->testify(inputs_);
    buffers_ = fp32_model(problem_, inputs_, Order::kForwards);
  }

  Conformance judged() const { return judge(*witness_, problem_, buffers_, family_); }

  std::uint8_t* element(std::size_t g, std::int64_t row, std::int64_t column) {
    const std::int64_t index = row * problem_.groups[g].n + column;
    return buffers_[g].data() + index * bytes_per_element(problem_.output);
  }

  const Engine engine_{{.thread_count = 2}};
  Problem problem_;
  InputFamily family_ = InputFamily::kNatural;
  Inputs inputs_;
  std::optional<Witness> witness_;
  Buffers buffers_;
};

// In any of a hundred groups, and whatever it is: a small number, a bit of the exponent, NaN.
TEST_F(WitnessTest, FindsOneWrongElementAnywhere) {
  Random random(5);
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const InputFamily family : {InputFamily::kExact, InputFamily::kNatural}) {
      use(make_problem(std::vector<std::int64_t>(100, 2), 24, 64, op, Activations::kNvfp4,
                       Output::kFp16),
          family);
      ASSERT_TRUE(judged().ok) << judged().first_failure;
      for (const int bits : {0x0000, 0x7e00, 0xfc00, 0x7800}) {
        const auto planted = static_cast<std::uint16_t>(bits);
        const std::size_t g = random.below(100);
        const std::int64_t row = random.between(0, 1);
        const std::int64_t column = random.between(0, 23);
        std::uint16_t right = 0;
        std::memcpy(&right, element(g, row, column), sizeof right);
        std::memcpy(element(g, row, column), &planted, sizeof planted);
        const Conformance found = judged();
        EXPECT_EQ(found.failed_count, 1) << planted << " in the place of " << right;
        EXPECT_NE(found.first_failure.find("group " + std::to_string(g) + ", row "),
                  std::string::npos)
            << found.first_failure;
        std::memcpy(element(g, row, column), &right, sizeof right);
      }
      ASSERT_TRUE(judged().ok);
    }
  }
}

TEST_F(WitnessTest, SeesTheLastBitOfExactSums) {
  for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
    use(make_problem({4}, 40, 512, Op::kGemm, Activations::kNvfp4, output), InputFamily::kExact);
    ASSERT_TRUE(judged().ok) << judged().first_failure;
    for (std::int64_t column = 0; column < 40; ++column) {
      *element(0, 1, column) ^= 1;
      EXPECT_EQ(judged().failed_count, 1) << to_string(output) << ", column " << column;
      *element(0, 1, column) ^= 1;
    }
  }
}

TEST_F(WitnessTest, CountsWhatIsWrong) {
  use(make_problem({6, 3}, 64, 128), InputFamily::kNatural);
  std::memset(element(1, 1, 0), 0, 64 * 4);
  EXPECT_EQ(judged().failed_count, 64) << "a row";
  use(make_problem({6, 3}, 64, 128), InputFamily::kNatural);
  for (std::int64_t row = 0; row < 6; ++row) std::memset(element(0, row, 63), 0, 4);
  EXPECT_EQ(judged().failed_count, 6) << "a column";
}

// New activations for the same weights, whose rows have been turned since.
TEST_F(WitnessTest, TestifiesOfTurnedWeights) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    use(make_problem({5, 2}, 40, 96, op), InputFamily::kNatural);
    Inputs turned = make_inputs(problem_, family_, 12);
    for (std::size_t g = 0; g < turned.groups.size(); ++g) {
      turned.groups[g].b = inputs_.groups[g].b;
      turned.groups[g].b_up = inputs_.groups[g].b_up;
      for (std::size_t i = 0; i < 7 * 48; ++i) turned.groups[g].b.codes[i] ^= 0x88;
    }
    const RowSigns signs = witness_->row_signs(turned);
    buffers_ = fp32_model(problem_, turned, Order::kForwards);
    witness_->testify(turned, signs);
    EXPECT_TRUE(judged().ok) << judged().first_failure;
    witness_->testify(turned);
    EXPECT_THROW(judged(), Error) << "the oracle has the last word, and it is not the witness's";
  }
}

// Right one by one, by the bound; not what FP32 sums make of such inputs.
TEST_F(WitnessTest, FindsNarrowArithmetic) {
  for (const Output output : {Output::kBf16, Output::kFp16, Output::kFp32}) {
    use(make_problem({8}, 64, 8192, Op::kGemm, Activations::kBf16, output), InputFamily::kNatural);
    EXPECT_TRUE(judged().ok) << judged().first_failure;
    Inputs rounded = inputs_;
    for (std::uint16_t& value : rounded.groups[0].a16) {
      value = static_cast<std::uint16_t>((value + 2) & ~3);  // 6 of 8 significant bits
    }
    buffers_ = fp32_model(problem_, rounded, Order::kForwards);
    const Conformance found = judged();
    EXPECT_TRUE(found.imprecise) << to_string(output);
    EXPECT_EQ(found.failed_count, 0) << to_string(output);
  }
}

// As the oracle alone does (gemm/conformance_test.cpp).
TEST_F(WitnessTest, JudgesTogetherWhatIsRoundedOften) {
  use(make_problem({5, 0, 9}, 72, 256, Op::kDual, Activations::kBf16, Output::kBf16),
      InputFamily::kNatural);
  for (auto& group : buffers_) {
    for (std::size_t i = 0; i + 1 < group.size(); i += 2) group[i] &= 0xfc;  // two bits of eight
  }
  const auto together = [&] {
    return witness_->judge(problem_.output, views_of(buffers_), Rigour::kTogether);
  };
  const Conformance alone = check_outputs(problem_, inputs_, views_of(buffers_), Rigour::kTogether);
  EXPECT_NEAR(together().max_error_over_bound, alone.max_error_over_bound, 1e-3);
  EXPECT_TRUE(together().ok) << together().first_failure;
  EXPECT_FALSE(judged().ok);
  for (std::size_t i = 0; i + 1 < buffers_[2].size(); i += 2) buffers_[2][i] &= 0xc0;
  EXPECT_FALSE(together().ok);
  EXPECT_NE(together().first_failure.find("group 2: errors are "), std::string::npos)
      << together().first_failure;
}

TEST_F(WitnessTest, LeavesSmallProblemsToTheOracle) {
  use(make_problem({3}, 8, 32, Op::kGemm, Activations::kNvfp4, Output::kFp16), InputFamily::kExact);
  Witness oracle(engine_, problem_, inputs_, {});
  oracle.testify(inputs_);
  *element(0, 2, 7) ^= 1;
  EXPECT_EQ(judge(oracle, problem_, buffers_, family_).first_failure, judged().first_failure);
  EXPECT_NE(judged().first_failure, "");
}

}  // namespace
}  // namespace thresher::measure
