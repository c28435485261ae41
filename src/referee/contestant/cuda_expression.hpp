// SPDX-License-Identifier: Apache-2.0
// The integer expressions of a launch description: "ceil_div(n, 128) * groups".
//
// Numbers, the names of LaunchValues, + - * / %, parentheses, ceil_div(a, b), min(a, b), max(a, b).
// Values are never negative and never above 2^63 - 1: what would be is an error, and so is a
// division by 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thresher::referee {

// What an expression may speak of.
struct LaunchValues {
  std::int64_t groups = 0;
  std::int64_t m = 0;      // of the largest group
  std::int64_t m_sum = 0;  // of all groups
  std::int64_t n = 0;      // of the widest group
  std::int64_t k = 0;      // of the deepest group
  std::int64_t sm_count = 0;
};

class LaunchExpression {
 public:
  // Throws Error naming the text, the place and what is allowed there.
  explicit LaunchExpression(std::string_view text);

  // Throws Error naming the text, the values and what went wrong.
  std::int64_t evaluate(const LaunchValues& values) const;

 private:
  friend class ExpressionParser;

  enum class Operation : std::uint8_t {
    kNumber,
    kName,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRemainder,
    kCeilDiv,
    kMin,
    kMax
  };
  // In the order of a calculator with a stack: operands first.
  struct Step {
    Operation operation = Operation::kNumber;
    std::int64_t number = 0;  // kNumber: the value; kName: an index into the names
  };

  std::int64_t apply(Operation operation, std::int64_t a, std::int64_t b) const;

  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace thresher::referee
