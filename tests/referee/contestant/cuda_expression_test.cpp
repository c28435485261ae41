// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/cuda_expression.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

const LaunchValues kValues{
    .groups = 8, .m = 248, .m_sum = 1024, .n = 4096, .k = 7168, .sm_count = 132};

std::int64_t value_of(const char* text) { return LaunchExpression(text).evaluate(kValues); }

std::string error_of(const std::string& text) {
  try {
    LaunchExpression(text).evaluate(kValues);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CudaExpression, ComputesAsWritten) {
  EXPECT_EQ(value_of("256"), 256);
  EXPECT_EQ(value_of("groups"), 8);
  EXPECT_EQ(value_of("m + m_sum"), 1272);
  EXPECT_EQ(value_of("ceil_div(n, 100)"), 41);
  EXPECT_EQ(value_of("n / 100"), 40);
  EXPECT_EQ(value_of("n % 100"), 96);
  EXPECT_EQ(value_of("min(sm_count, k) * 2"), 264);
  EXPECT_EQ(value_of("max(m, n) - m"), 3848);
  EXPECT_EQ(value_of("2 + 3 * 4"), 14);
  EXPECT_EQ(value_of("(2 + 3) * 4"), 20);
  EXPECT_EQ(value_of("100 - 10 - 1"), 89);
  EXPECT_EQ(value_of("100 / 10 / 5"), 2);
  EXPECT_EQ(value_of("  ceil_div ( max( m , 1 ),64 ) "), 4);
  EXPECT_EQ(value_of("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(CudaExpression, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(""),
            "the expression \"\" ends where a number, a name or a parenthesis should be");
  EXPECT_EQ(error_of("2 +"),
            "the expression \"2 +\" ends where a number, a name or a parenthesis should be");
  EXPECT_EQ(error_of("2 3"),
            "the expression \"2 3\" has '3' at character 3 where an operator should be");
  EXPECT_EQ(error_of("(m"), "the expression \"(m\" ends where ')' should be");
  EXPECT_EQ(error_of("min(m)"),
            "the expression \"min(m)\" has ')' at character 6 where ',' should be");
  EXPECT_EQ(error_of("m * rows"),
            "the expression \"m * rows\" speaks of 'rows'; there are groups, m, m_sum, n, k, "
            "sm_count and the functions ceil_div, min, max");
  EXPECT_EQ(error_of("-1"),
            "the expression \"-1\" has '-' at character 1 where a number, a name or a parenthesis "
            "should be");
  EXPECT_EQ(error_of("9223372036854775808"),
            "the expression \"9223372036854775808\" has the number 9223372036854775808, which is "
            "too large");
  EXPECT_NE(error_of(std::string(201, '1')).find("longer than 200"), std::string::npos);
  EXPECT_NE(error_of(std::string(100, '(')).find("nested deeper than 32"), std::string::npos);
}

TEST(CudaExpression, StaysInRange) {
  EXPECT_EQ(error_of("n / (m - m)"), "\"n / (m - m)\" divides 4096 by 0");
  EXPECT_EQ(error_of("n % 0"), "\"n % 0\" divides 4096 by 0");
  EXPECT_EQ(error_of("ceil_div(1, 0)"), "\"ceil_div(1, 0)\" divides 1 by 0");
  EXPECT_EQ(error_of("m - n"), "\"m - n\" falls below 0 at 248 - 4096");
  EXPECT_EQ(error_of("9223372036854775807 + 1"),
            "\"9223372036854775807 + 1\" is too large at 9223372036854775807 and 1");
  EXPECT_NE(error_of("9223372036854775807 * 2").find("too large"), std::string::npos);
}

}  // namespace
}  // namespace thresher::referee
