// SPDX-License-Identifier: Apache-2.0
// Every way of being wrong that verify claims to find, planted in outputs that are otherwise right.
#include "cli/verify_case.hpp"

#include <gtest/gtest.h>

#include "engine/backends.hpp"
#include "measure/right_answer.hpp"
#include "thresher/error.hpp"

namespace thresher::cli {
namespace {

using measure::element_address;
using measure::GuardedOutputs;
using measure::write_right_answer;

const Runner kOneThread{"cpu_portable", "1 thread", "twins"};
const Runner kTwoThreads{"cpu_portable", "2 threads", "twins"};
const Runner kOtherBody{"cpu_avx2", "1 thread", "twins"};
const Runner kStranger{"cpu_amx", "1 thread", "others"};

Problem small_problem(Op op, Activations activations, Output output) {
  Problem problem{
      .name = "small",
      .op = op,
      .activations = activations,
      .output = output,
      .groups = {{.m = 5, .n = 33, .k = 48}, {.m = 0, .n = 8, .k = 16}, {.m = 3, .n = 7, .k = 16}}};
  return problem;
}

class VerifyCaseTest : public ::testing::Test {
 protected:
  void use(Problem problem, InputFamily family, CaseOptions options = {}) {
    problem_ = std::move(problem);
    options.family = family;
    inputs_ = make_inputs(problem_, family, 11);
    case_.emplace(engine_, problem_, inputs_, options);
  }

  void use_exact_gemm(CaseOptions options = {}) {
    use(small_problem(Op::kGemm, Activations::kNvfp4, Output::kFp16), InputFamily::kExact, options);
  }

  // The right answer, and then what `plant` does to it.
  template <typename Plant>
  Finding check(const Runner& runner, Plant plant) {
    return case_->check(runner, [&](const GuardedOutputs& outputs) {
      write_right_answer(problem_, inputs_, outputs);
      plant(outputs);
    });
  }

  Finding check_right(const Runner& runner) {
    return check(runner, [](const GuardedOutputs&) {});
  }

  std::uint8_t* element(const GuardedOutputs& outputs, std::size_t group_index, std::int64_t row,
                        std::int64_t column) const {
    return element_address(problem_, outputs, group_index, row, column);
  }

  const Engine engine_{{.thread_count = 1}};
  Problem problem_;
  Inputs inputs_;
  std::optional<VerifyCase> case_;
};

TEST_F(VerifyCaseTest, AcceptsRightAnswers) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
      for (const InputFamily family :
           {InputFamily::kExact, InputFamily::kNatural, InputFamily::kFull}) {
        use(small_problem(op, activations, Output::kBf16), family);
        for (const Runner& runner : {kOneThread, kTwoThreads, kOtherBody}) {
          const Finding finding = check_right(runner);
          EXPECT_TRUE(finding.ok) << to_string(family) << ": " << finding.what;
          EXPECT_LE(finding.max_error_over_bound, 1);
        }
      }
    }
  }
}

TEST_F(VerifyCaseTest, FindsOneFlippedBit) {
  use_exact_gemm();
  const Finding finding =
      check(kOneThread, [&](const GuardedOutputs& outputs) { *element(outputs, 0, 4, 32) ^= 1; });
  EXPECT_FALSE(finding.ok);
  EXPECT_NE(finding.what.find("1 of 186 elements checked are wrong"), std::string::npos)
      << finding.what;
  EXPECT_NE(finding.what.find("group 0, row 4, column 32"), std::string::npos) << finding.what;
}

TEST_F(VerifyCaseTest, FindsAResultBeyondTheBound) {
  use(small_problem(Op::kDual, Activations::kFp16, Output::kFp32), InputFamily::kNatural);
  const Finding finding = check(kOneThread, [&](const GuardedOutputs& outputs) {
    element(outputs, 2, 1, 6)[2] ^= 0x40;  // a high bit of the mantissa
  });
  EXPECT_FALSE(finding.ok);
  EXPECT_GT(finding.max_error_over_bound, 1);
}

TEST_F(VerifyCaseTest, FindsWritesBehindTheOutputs) {
  use_exact_gemm();
  const Finding finding =
      check(kOneThread, [&](const GuardedOutputs& outputs) { element(outputs, 2, 2, 6)[2] ^= 1; });
  EXPECT_FALSE(finding.ok);
  EXPECT_NE(finding.what.find("behind the last output"), std::string::npos) << finding.what;
}

TEST_F(VerifyCaseTest, FindsWritesBetweenRows) {
  bool found_gap = false;
  for (std::uint64_t seed = 0; seed < 20 && !found_gap; ++seed) {
    use_exact_gemm({.seed = seed});
    const Finding finding = check(kOneThread, [&](const GuardedOutputs& outputs) {
      found_gap = outputs.stride_elements(0) > 33;
      if (found_gap) *element(outputs, 0, 1, 33) ^= 1;
    });
    if (!found_gap) continue;
    EXPECT_FALSE(finding.ok);
    EXPECT_NE(finding.what.find("between outputs"), std::string::npos) << finding.what;
  }
  EXPECT_TRUE(found_gap) << "no layout of 20 had gaps between rows";
}

TEST_F(VerifyCaseTest, FindsAnElementNobodyWrote) {
  use_exact_gemm();
  const Finding finding = case_->check(kOneThread, [&](const GuardedOutputs& outputs) {
    std::uint16_t poison = 0;
    std::uint8_t* forgotten = element(outputs, 2, 0, 3);
    std::memcpy(&poison, forgotten, sizeof poison);
    write_right_answer(problem_, inputs_, outputs);
    std::memcpy(forgotten, &poison, sizeof poison);
  });
  EXPECT_FALSE(finding.ok);
  EXPECT_EQ(finding.what, "did not write group 2, row 0, column 3");
}

// Where a problem is too large for the oracle, a witness sees every element as well.
TEST_F(VerifyCaseTest, FindsOneFlippedBitByAWitness) {
  for (std::int64_t column = 0; column < 33; ++column) {
    use_exact_gemm({.oracle_steps_max = 1});
    const Finding finding = check(
        kOneThread, [&](const GuardedOutputs& outputs) { *element(outputs, 0, 2, column) ^= 1; });
    EXPECT_NE(finding.what.find("1 of 186 elements checked are wrong; group 0, row 2, column " +
                                std::to_string(column) + ":"),
              std::string::npos)
        << finding.what;
  }
}

TEST_F(VerifyCaseTest, FindsAnUnwrittenElementByAWitness) {
  use_exact_gemm({.oracle_steps_max = 1});
  const Finding finding = case_->check(kOneThread, [&](const GuardedOutputs& outputs) {
    std::uint16_t poison = 0;
    std::uint8_t* forgotten = element(outputs, 0, 2, 17);
    std::memcpy(&poison, forgotten, sizeof poison);
    write_right_answer(problem_, inputs_, outputs);
    std::memcpy(forgotten, &poison, sizeof poison);
  });
  EXPECT_EQ(finding.what, "did not write group 0, row 2, column 17");
}

// The least bit of an FP32 sum is well within the bound, and still not the twin's.
TEST_F(VerifyCaseTest, FindsThreadCountsThatDisagree) {
  for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
    use(small_problem(Op::kGemm, activations, Output::kFp32), InputFamily::kNatural);
    ASSERT_TRUE(check_right(kOneThread).ok);
    const Finding finding =
        check(kTwoThreads, [&](const GuardedOutputs& outputs) { *element(outputs, 0, 3, 4) ^= 1; });
    EXPECT_FALSE(finding.ok);
    EXPECT_EQ(finding.what,
              "not the bits of cpu_portable, 1 thread, first at group 0, row 3, column 4");
    ASSERT_TRUE(finding.twin.has_value());
    EXPECT_EQ(finding.twin->way, "1 thread");
  }
}

TEST_F(VerifyCaseTest, OnlyTwinsMustAgree) {
  const auto least_bit = [&](const GuardedOutputs& outputs) { *element(outputs, 0, 3, 4) ^= 1; };
  use(small_problem(Op::kGemm, Activations::kNvfp4, Output::kFp32), InputFamily::kNatural);
  ASSERT_TRUE(check_right(kOneThread).ok);
  EXPECT_FALSE(check(kOtherBody, least_bit).ok);
  EXPECT_TRUE(check(kStranger, least_bit).ok);
}

TEST(VerifyCpu, BodiesAreTwinsOnIntegersOnly) {
  const auto twin_set = [&](Activations activations, const char* variant) {
    const Problem problem = small_problem(Op::kGemm, activations, Output::kFp32);
    return backend_named("cpu").twin_set(problem, variant, /*exact=*/false,
                                         /*device_counts=*/false);
  };
  constexpr Activations kCodes = Activations::kNvfp4;
  EXPECT_EQ(twin_set(kCodes, "cpu_portable"), twin_set(kCodes, "cpu_avx2:stages=0"));
  EXPECT_NE(twin_set(kCodes, "cpu_portable"), twin_set(kCodes, "cpu_amx"));
  EXPECT_NE(twin_set(Activations::kFp16, "cpu_portable"), twin_set(Activations::kFp16, "cpu_avx2"));
}

TEST_F(VerifyCaseTest, ReportsARefusalAsAFailure) {
  use_exact_gemm();
  const Finding finding =
      case_->check(kOneThread, [](const GuardedOutputs&) { throw Error("group 0: no reason"); });
  EXPECT_FALSE(finding.ok);
  EXPECT_EQ(finding.what, "refused to run: group 0: no reason");
}

TEST(NamedSeed, DependsOnSeedAndName) {
  EXPECT_EQ(named_seed(1, "a"), named_seed(1, "a"));
  EXPECT_NE(named_seed(1, "a"), named_seed(2, "a"));
  EXPECT_NE(named_seed(1, "a"), named_seed(1, "b"));
}

}  // namespace
}  // namespace thresher::cli
