// SPDX-License-Identifier: Apache-2.0
#include "cli/ceiling_doubt.hpp"

#include <gtest/gtest.h>

#include "gemm/speed_of_light.hpp"

namespace thresher::cli {
namespace {

const Problem kDoubtedProblem{.name = "p", .groups = {{.m = 1, .n = 1024, .k = 1024}}};

// Its floor is the time to read half a million bytes and more.
backend::Ceilings reading_at(double gb_per_s) {
  return {.title = "here",
          .rates = {.read_gb_per_s = gb_per_s,
                    .nvfp4_gop_per_s = 1e9,
                    .fp16_gop_per_s = 1e9,
                    .bf16_gop_per_s = 1e9},
          .text = "",
          .values = {}};
}

double floor_at(double gb_per_s) {
  return speed_of_light(kDoubtedProblem, reading_at(gb_per_s).rates).floor_us();
}

TEST(CeilingDoubt, LeavesPossibleTimesAlone) {
  const auto never = []() -> backend::Ceilings {
    ADD_FAILURE() << "nobody doubted it";
    return reading_at(1);
  };
  const backend::Ceilings kept =
      believable_ceilings(reading_at(10), kDoubtedProblem, floor_at(10) * 1.01, never);
  EXPECT_EQ(kept.rates.read_gb_per_s, 10);
}

// Measured beside a busy neighbour a ceiling of 10 was taken for one of 3.
TEST(CeilingDoubt, AsksTheMachineAgain) {
  int asked_count = 0;
  const backend::Ceilings found =
      believable_ceilings(reading_at(3), kDoubtedProblem, floor_at(9),
                          [&asked_count] { return reading_at(++asked_count == 1 ? 2 : 10); });
  EXPECT_EQ(asked_count, 2);
  EXPECT_EQ(found.rates.read_gb_per_s, 10);
}

TEST(CeilingDoubt, GivesUpOnAMachineThatStaysBusy) {
  int asked_count = 0;
  const backend::Ceilings found =
      believable_ceilings(reading_at(3), kDoubtedProblem, floor_at(9), [&asked_count] {
        ++asked_count;
        return reading_at(4 - asked_count);
      });
  EXPECT_EQ(asked_count, 3);
  EXPECT_EQ(found.rates.read_gb_per_s, 3);
}

TEST(CeilingDoubt, PrintsNoShareAboveOne) {
  EXPECT_EQ(share_text(0.854), "0.85");
  EXPECT_EQ(share_text(1), "1.00");
  EXPECT_EQ(share_text(3.41), ">1");
}

}  // namespace
}  // namespace thresher::cli
