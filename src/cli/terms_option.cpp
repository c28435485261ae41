// SPDX-License-Identifier: Apache-2.0
#include "cli/terms_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace thresher::cli {
namespace {

bool is_number(const std::string& text, double& number) {
  char* end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

}  // namespace

Option terms_option(std::vector<std::string>& terms) {
  return {.name = "--terms",
          .value = &terms,
          .what = "Deal terms: speedup=1.01 regression=0.03 spread=0.05 tail=0.03 confidence=0.95",
          .type_text = "NAME=VALUE ..."};
}

DealTerms terms_from(const std::vector<std::string>& assignments) {
  DealTerms terms;
  const std::map<std::string, double*> known = {{"speedup", &terms.speedup_min},
                                                {"regression", &terms.regression_max},
                                                {"spread", &terms.spread_max},
                                                {"tail", &terms.tail_max},
                                                {"confidence", &terms.confidence}};
  for (const std::string& assignment : assignments) {
    const std::size_t equals = std::min(assignment.find('='), assignment.size());
    const auto found = known.find(assignment.substr(0, equals));
    const std::string number = assignment.substr(std::min(equals + 1, assignment.size()));
    if (found == known.end() || !is_number(number, *found->second)) {
      throw UsageError(
          fmt::format("deal term '{}' is not speedup, regression, spread, tail or confidence = a "
                      "number",
                      assignment));
    }
  }
  return terms;
}

}  // namespace thresher::cli
