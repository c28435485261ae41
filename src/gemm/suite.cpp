// SPDX-License-Identifier: Apache-2.0
// Where suites come from: a file, or the ones inside the binary. gemm/suite_parser.cpp reads the
// text.
#include "gemm/suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "embedded_file.hpp"
#include "gemm/toml_words.hpp"
#include "spelling.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

std::string read_file(const std::filesystem::path& path) {
  try {
    return read_start(path, "suite", kSuiteBytesMax);
  } catch (const Error& error) {
    throw Error(fmt::format("{}; suites that need no file: {}", error.what(),
                            fmt::join(builtin_suite_names(), ", ")));
  }
}

}  // namespace

Suite load_suite_file(const std::filesystem::path& path) {
  return parse_suite(read_file(path), path.string());
}

Suite load_suite(const std::string& name_or_path) {
  if (const EmbeddedFile* suite = find_embedded(kSuiteFiles, name_or_path)) {
    return parse_suite(suite->text, fmt::format("{}.toml", suite->name));
  }
  const std::filesystem::path path = name_or_path;
  if (path.extension() == ".toml") return load_suite_file(path);
  const std::vector<std::string> names = builtin_suite_names();
  throw Error(fmt::format("unknown suite '{}'; give the path of a .toml file or one of {}{}",
                          name_or_path, fmt::join(names, ", "), did_you_mean(name_or_path, names)));
}

std::vector<std::string> builtin_suite_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& suite : kSuiteFiles) names.emplace_back(suite.name);
  return names;
}

}  // namespace thresher
