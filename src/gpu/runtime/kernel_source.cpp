// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/kernel_source.hpp"

#include <algorithm>
#include <optional>

namespace thresher::gpu {
namespace {

constexpr std::string_view kBlanks = " \t";

// Removes `word` and the blanks before it from the front of `line`, if it stands there.
bool skip(std::string_view& line, std::string_view word) {
  const std::size_t start = std::min(line.find_first_not_of(kBlanks), line.size());
  if (line.substr(start, word.size()) != word) return false;
  line.remove_prefix(start + word.size());
  return true;
}

// What stands between the quotes of an #include line.
std::optional<std::string_view> included_name(std::string_view line) {
  if (!skip(line, "#") || !skip(line, "include") || !skip(line, "\"")) return std::nullopt;
  const std::size_t end = line.find('"');
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(0, end);
}

}  // namespace

std::vector<NamedSource> headers_of(std::string_view source, EmbeddedFiles table) {
  std::vector<NamedSource> headers;
  const auto collect = [&](const auto& self, std::string_view text) -> void {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::optional<std::string_view> name = included_name(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (!name.has_value()) continue;
      const bool known = std::any_of(headers.begin(), headers.end(),
                                     [&](const NamedSource& one) { return one.name == *name; });
      const EmbeddedFile* header = known ? nullptr : find_embedded(table, *name);
      if (header == nullptr) continue;
      headers.push_back({.name = std::string(*name), .text = std::string(header->text)});
      self(self, header->text);
    }
  };
  collect(collect, source);
  return headers;
}

}  // namespace thresher::gpu
