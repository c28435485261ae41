// SPDX-License-Identifier: Apache-2.0
#include "gemm/toml_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "thresher/error.hpp"

namespace thresher {
namespace {

constexpr std::size_t kNameBytesMax = 64;

}  // namespace

std::string read_start(const std::filesystem::path& path, std::string_view what,
                       std::size_t bytes_max) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes_max + 1, '\0');
  // A directory opens but cannot be read.
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    throw Error(fmt::format("cannot read {} '{}': {}", what, path.string(),
                            std::generic_category().message(errno)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string_view describe_type(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

std::string quote_value(std::string_view text) {
  constexpr std::size_t kShown = 40;
  const char* ellipsis = text.size() > kShown ? "..." : "";
  return fmt::format("{:?}{}", text.substr(0, kShown), ellipsis);
}

bool is_name(std::string_view text) {
  const auto allowed = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kNameBytesMax &&
         std::all_of(text.begin(), text.end(), allowed);
}

std::string fault_of_name(std::string_view text) {
  if (is_name(text)) return {};
  return fmt::format("{} is not a name; 1 to {} letters, digits, '_', '-' and '.' are allowed",
                     quote_value(text), kNameBytesMax);
}

}  // namespace thresher
