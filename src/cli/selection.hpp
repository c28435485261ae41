// SPDX-License-Identifier: Apache-2.0
// What --suite, --problem, --variant and --threads select. A name that selects nothing is a
// UsageError that lists what there is.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "gemm/suite.hpp"

namespace thresher::cli {

// A suite that does not exist is the argument's fault, a UsageError; one that does not parse is its
// file's, an Error.
Suite load_named_suite(const std::string& name_or_path);

struct SelectedProblem {
  std::string suite;           // its name, as tables show it
  std::string suite_argument;  // what the user said: a name or a path
  Problem problem;
};

// The problems of all suites in order; only those called one of `problem_names` unless
// that is empty.
std::vector<SelectedProblem> select_problems(const std::vector<std::string>& suites,
                                             const std::vector<std::string>& problem_names);

// Refuses names that are not variants at all. Whether one can run here is another question.
void check_variant_names(const std::vector<std::string>& variants);

// The same values, each once, in the order given.
template <typename Value>
std::vector<Value> distinct(const std::vector<Value>& values) {
  std::vector<Value> once;
  for (const Value& value : values) {
    if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(value);
  }
  return once;
}

// An argument as a POSIX shell takes it back.
std::string shell_quoted(const std::string& argument);

}  // namespace thresher::cli
