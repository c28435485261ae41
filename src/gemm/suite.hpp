// SPDX-License-Identifier: Apache-2.0
// A suite: a named list of problems in a TOML file. docs/suites.md documents the file format.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/problem.hpp"

namespace thresher {

struct Suite {
  std::string name;
  std::string description;
  std::vector<Problem> problems;
};

inline constexpr std::size_t kSuiteBytesMax = std::size_t{1} << 20;

// `source_name` stands in messages, which read "source_name:line:column: what is wrong".
Suite parse_suite(std::string_view toml, std::string_view source_name);
Suite load_suite_file(const std::filesystem::path& path);

// A path to a .toml file, or the name of a suite that ships with the binary (the files of suites/
// are embedded at build time, so that the binary can be copied alone).
Suite load_suite(const std::string& name_or_path);
std::vector<std::string> builtin_suite_names();

}  // namespace thresher
