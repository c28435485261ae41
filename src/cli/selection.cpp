// SPDX-License-Identifier: Apache-2.0
#include "cli/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.hpp"
#include "engine/backends.hpp"
#include "spelling.hpp"

namespace thresher::cli {
namespace {

template <typename Value>
bool contains(const std::vector<Value>& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

Suite load_named_suite(const std::string& name_or_path) {
  const std::vector<std::string> builtin = builtin_suite_names();
  const std::filesystem::path path = name_or_path;
  if (!contains(builtin, name_or_path) && path.extension() != ".toml") {
    throw UsageError(fmt::format("unknown suite '{}'; give the path of a .toml file or one of {}{}",
                                 name_or_path, fmt::join(builtin, ", "),
                                 did_you_mean(name_or_path, builtin)));
  }
  return load_suite(name_or_path);
}

std::vector<SelectedProblem> select_problems(const std::vector<std::string>& suites,
                                             const std::vector<std::string>& problem_names) {
  std::vector<SelectedProblem> selected;
  std::vector<std::string> known_names;
  for (const std::string& argument : suites) {
    const Suite suite = load_named_suite(argument);
    for (const Problem& problem : suite.problems) {
      known_names.push_back(problem.name);
      if (!problem_names.empty() && !contains(problem_names, problem.name)) continue;
      selected.push_back({suite.name, argument, problem});
    }
  }
  for (const std::string& name : problem_names) {
    if (contains(known_names, name)) continue;
    throw UsageError(fmt::format("no problem '{}' in {}; there are {}{}", name,
                                 fmt::join(suites, ", "), fmt::join(known_names, ", "),
                                 did_you_mean(name, known_names)));
  }
  return selected;
}

void check_variant_names(const std::vector<std::string>& variants) {
  for (const std::string& variant : variants) {
    try {
      backend_of_variant(variant).turned(variant, {});
    } catch (const Error& error) {
      throw UsageError(fmt::format("{}; 'thresher variants' lists the named ones", error.what()));
    }
  }
}

std::string shell_quoted(const std::string& argument) {
  const std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:=/";
  if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos) return argument;
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace thresher::cli
