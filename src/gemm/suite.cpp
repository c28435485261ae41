// SPDX-License-Identifier: Apache-2.0
// Where suites come from: a file, or the ones inside the binary. gemm/suite_parser.cpp reads the
// text.
#include "gemm/suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "embedded_file.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

// Reads one byte more than the parser takes, so that it can refuse what is too large, and no more,
// so that an endless file ends.
std::string read_start(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kSuiteBytesMax + 1, '\0');
  // A directory opens but cannot be read.
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    const std::string reason = std::generic_category().message(errno);
    throw Error(fmt::format("cannot read suite '{}': {}; suites that need no file: {}",
                            path.string(), reason, fmt::join(builtin_suite_names(), ", ")));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Suite load_suite_file(const std::filesystem::path& path) {
  return parse_suite(read_start(path), path.string());
}

Suite load_suite(const std::string& name_or_path) {
  if (const EmbeddedFile* suite = find_embedded(kSuiteFiles, name_or_path)) {
    return parse_suite(suite->text, fmt::format("{}.toml", suite->name));
  }
  const std::filesystem::path path = name_or_path;
  if (path.extension() == ".toml") return load_suite_file(path);
  throw Error(fmt::format("unknown suite '{}'; give the path of a .toml file or one of {}",
                          name_or_path, fmt::join(builtin_suite_names(), ", ")));
}

std::vector<std::string> builtin_suite_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& suite : kSuiteFiles) names.emplace_back(suite.name);
  return names;
}

}  // namespace thresher
