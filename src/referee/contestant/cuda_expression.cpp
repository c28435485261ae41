// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/cuda_expression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "referee/protocol.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

constexpr std::size_t kTextMax = 200;
constexpr int kDepthMax = 32;

struct Name {
  std::string_view word;
  std::int64_t LaunchValues::*value;
};

constexpr std::array<Name, 6> kNames = {{{"groups", &LaunchValues::groups},
                                         {"m", &LaunchValues::m},
                                         {"m_sum", &LaunchValues::m_sum},
                                         {"n", &LaunchValues::n},
                                         {"k", &LaunchValues::k},
                                         {"sm_count", &LaunchValues::sm_count}}};
constexpr std::array<std::string_view, 3> kFunctions = {"ceil_div", "min", "max"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

}  // namespace

// One rule of the grammar per function:
//   sum     = product { (+ | -) product }
//   product = operand { (* | / | %) operand }
//   operand = number | name | function ( sum , sum ) | ( sum )
class ExpressionParser {
 public:
  using Operation = LaunchExpression::Operation;

  explicit ExpressionParser(LaunchExpression& expression)
      : text_(expression.text_), steps_(expression.steps_) {}

  void parse() {
    if (text_.size() > kTextMax) fail(fmt::format("is longer than {} characters", kTextMax));
    sum();
    skip_blanks();
    if (at_ < text_.size()) fail_here("an operator");
  }

 private:
  void sum() {
    if (++depth_ > kDepthMax) fail(fmt::format("is nested deeper than {}", kDepthMax));
    product();
    while (true) {
      const bool adds = take('+');
      if (!adds && !take('-')) break;
      product();
      add(adds ? Operation::kAdd : Operation::kSubtract);
    }
    --depth_;
  }

  void product() {
    operand();
    while (true) {
      Operation operation = Operation::kMultiply;
      if (take('/')) {
        operation = Operation::kDivide;
      } else if (take('%')) {
        operation = Operation::kRemainder;
      } else if (!take('*')) {
        return;
      }
      operand();
      add(operation);
    }
  }

  void operand() {
    if (take('(')) {
      sum();
      expect(')');
      return;
    }
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    if (is_digit(next)) return number();
    if (!is_word(next)) fail_here("a number, a name or a parenthesis");
    const std::string_view word = take_while(is_word);
    const auto name = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const Name& one) { return one.word == word; });
    if (name != kNames.end()) return add(Operation::kName, name - kNames.begin());
    call(word);
  }

  void number() {
    const std::string_view digits = take_while(is_digit);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{}) fail(fmt::format("has the number {}, which is too large", digits));
    add(Operation::kNumber, value);
  }

  void call(std::string_view word) {
    constexpr std::array kOperations = {Operation::kCeilDiv, Operation::kMin, Operation::kMax};
    const auto function = std::find(kFunctions.begin(), kFunctions.end(), word);
    if (function == kFunctions.end()) {
      std::vector<std::string_view> words;
      for (const Name& one : kNames) words.push_back(one.word);
      fail(fmt::format("speaks of '{}'; there are {} and the functions {}", word,
                       fmt::join(words, ", "), fmt::join(kFunctions, ", ")));
    }
    expect('(');
    sum();
    expect(',');
    sum();
    expect(')');
    add(kOperations[static_cast<std::size_t>(function - kFunctions.begin())]);
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    skip_blanks();
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail_here(fmt::format("'{}'", wanted));
  }

  template <typename Belongs>
  std::string_view take_while(Belongs belongs) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void add(Operation operation, std::int64_t number = 0) { steps_.push_back({operation, number}); }

  [[noreturn]] void fail_here(std::string_view wanted) const {
    fail(at_ < text_.size() ? fmt::format("has '{}' at character {} where {} should be",
                                          printable(text_.substr(at_, 1)), at_ + 1, wanted)
                            : fmt::format("ends where {} should be", wanted));
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(fmt::format("the expression \"{}\" {}", printable(text_, kTextMax), why));
  }

  std::string_view text_;
  std::vector<LaunchExpression::Step>& steps_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

LaunchExpression::LaunchExpression(std::string_view text) : text_(text) {
  ExpressionParser(*this).parse();
}

std::int64_t LaunchExpression::evaluate(const LaunchValues& values) const {
  std::vector<std::int64_t> stack;
  for (const Step& step : steps_) {
    if (step.operation == Operation::kNumber) {
      stack.push_back(step.number);
    } else if (step.operation == Operation::kName) {
      stack.push_back(values.*kNames[static_cast<std::size_t>(step.number)].value);
    } else {
      const std::int64_t b = stack.back();
      stack.pop_back();
      stack.back() = apply(step.operation, stack.back(), b);
    }
  }
  return stack.back();
}

std::int64_t LaunchExpression::apply(Operation operation, std::int64_t a, std::int64_t b) const {
  std::int64_t result = 0;
  bool overflows = false;
  const bool divides = operation == Operation::kDivide || operation == Operation::kRemainder ||
                       operation == Operation::kCeilDiv;
  if (divides && b == 0) throw Error(fmt::format("\"{}\" divides {} by 0", text_, a));
  switch (operation) {
    case Operation::kAdd:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case Operation::kSubtract:
      if (b > a) throw Error(fmt::format("\"{}\" falls below 0 at {} - {}", text_, a, b));
      result = a - b;
      break;
    case Operation::kMultiply:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case Operation::kDivide:
      result = a / b;
      break;
    case Operation::kRemainder:
      result = a % b;
      break;
    case Operation::kCeilDiv:
      result = a / b + (a % b != 0 ? 1 : 0);
      break;
    case Operation::kMin:
      result = std::min(a, b);
      break;
    case Operation::kMax:
    case Operation::kNumber:
    case Operation::kName:
      result = std::max(a, b);
      break;
  }
  if (overflows) throw Error(fmt::format("\"{}\" is too large at {} and {}", text_, a, b));
  return result;
}

}  // namespace thresher::referee
