// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/verdict.hpp"

#include <gtest/gtest.h>

#include "nvfp4/error_message.hpp"

namespace thresher {
namespace {

TEST(Verdict, KindsHaveTheirWords) {
  EXPECT_EQ(to_string(VerdictKind::kAccepted), "accepted");
  EXPECT_EQ(to_string(VerdictKind::kRejected), "rejected");
  EXPECT_EQ(to_string(VerdictKind::kWrong), "wrong");
  EXPECT_EQ(to_string(VerdictKind::kInvalid), "invalid");
  EXPECT_EQ(to_string(VerdictKind::kUnclear), "unclear");
}

TEST(Verdict, WordsReadBack) {
  for (const VerdictKind kind :
       {VerdictKind::kAccepted, VerdictKind::kRejected, VerdictKind::kWrong, VerdictKind::kInvalid,
        VerdictKind::kUnclear}) {
    EXPECT_EQ(verdict_kind_from_string(to_string(kind)), kind);
  }
  EXPECT_EQ(nvfp4::error_message([] { verdict_kind_from_string("Accepted"); }),
            "verdict = \"Accepted\" is none of accepted, rejected, wrong, invalid, unclear");
}

}  // namespace
}  // namespace thresher
