// SPDX-License-Identifier: Apache-2.0
#include "cli/terms_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "spelling.hpp"

namespace thresher::cli {
namespace {

struct Term {
  const char* name;
  double DealTerms::*value;
  OptionRange range;
};

// Within these every verdict can be computed and none is decided before it is played.
constexpr Term kTerms[] = {{"speedup", &DealTerms::speedup_min, {0.5, 100}},
                           {"regression", &DealTerms::regression_max, {0, 10}},
                           {"spread", &DealTerms::spread_max, {0, 10}},
                           {"tail", &DealTerms::tail_max, {0, 10}},
                           {"confidence", &DealTerms::confidence, {0.5, 0.9999}}};

const Term& term_named(const std::string& name, const std::string& assignment) {
  std::vector<std::string> names;
  for (const Term& term : kTerms) {
    if (name == term.name) return term;
    names.emplace_back(term.name);
  }
  throw UsageError(fmt::format("--terms: '{}' is not {} = a number{}", assignment,
                               fmt::join(names, ", "), did_you_mean(name, names)));
}

double number_of(const std::string& text, const Term& term) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0';
  if (is_number && number >= term.range.low && number <= term.range.high) return number;
  throw UsageError(fmt::format("--terms: {} is a number from {:g} to {:g}, and '{}' is not",
                               term.name, term.range.low, term.range.high, text));
}

}  // namespace

Option terms_option(std::vector<std::string>& terms) {
  return {.name = "--terms",
          .value = &terms,
          .what = "Deal terms: speedup=1.01 regression=0.03 spread=0.05 tail=0.03 confidence=0.95",
          .type_text = "NAME=VALUE ...",
          .assignments = true};
}

DealTerms terms_from(const std::vector<std::string>& assignments) {
  DealTerms terms;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = std::min(assignment.find('='), assignment.size());
    const Term& term = term_named(assignment.substr(0, equals), assignment);
    terms.*term.value = number_of(assignment.substr(std::min(equals + 1, assignment.size())), term);
  }
  return terms;
}

}  // namespace thresher::cli
