// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/knob_condition.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "assert.hpp"

namespace thresher {
namespace {

constexpr std::string_view kAnd = " and ";

// Longer ones first: "<" is the beginning of "<=".
constexpr std::string_view kOperators[] = {"!=", "<=", ">=", "=", "<", ">", "not a multiple of"};
constexpr std::string_view kMultiple = kOperators[6];

struct Term {
  std::string_view comparison;
  std::string_view operand;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string_view> terms_of(std::string_view condition) {
  std::vector<std::string_view> terms;
  while (true) {
    const std::size_t end = condition.find(kAnd);
    terms.push_back(trimmed(condition.substr(0, end)));
    if (end == std::string_view::npos) return terms;
    condition.remove_prefix(end + kAnd.size());
  }
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Term> read_term(std::string_view text) {
  for (const std::string_view comparison : kOperators) {
    if (!text.starts_with(comparison)) continue;
    const Term term{comparison, trimmed(text.substr(comparison.size()))};
    const bool is_equality = comparison == "=" || comparison == "!=";
    const std::optional<double> number = number_of(term.operand);
    if (term.operand.empty() || (!is_equality && !number)) return std::nullopt;
    if (comparison == kMultiple && !(*number >= 1)) return std::nullopt;
    return term;
  }
  return std::nullopt;
}

bool holds(const Term& term, std::string_view value) {
  const std::optional<double> left = number_of(value);
  const std::optional<double> right = number_of(term.operand);
  const bool numbers = left && right;
  const bool equal = numbers ? *left == *right : value == term.operand;
  if (term.comparison == "=") return equal;
  if (term.comparison == "!=") return !equal;
  if (!numbers) return false;
  if (term.comparison == "<") return *left < *right;
  if (term.comparison == "<=") return *left <= *right;
  if (term.comparison == ">") return *left > *right;
  if (term.comparison == ">=") return *left >= *right;
  return std::fmod(*left, *right) != 0;
}

}  // namespace

std::string fault_of_condition(std::string_view condition) {
  for (const std::string_view term : terms_of(condition)) {
    if (read_term(term)) continue;
    return fmt::format(
        "{:?} is no condition; such as '= sequence', '> 1', '!= 128 and != 256' or "
        "'not a multiple of 8' is allowed",
        condition);
  }
  return {};
}

bool holds(std::string_view condition, std::string_view value) {
  for (const std::string_view text : terms_of(condition)) {
    const std::optional<Term> term = read_term(text);
    THRESHER_ASSERT(term.has_value());
    if (!holds(*term, value)) return false;
  }
  return true;
}

}  // namespace thresher
