// SPDX-License-Identifier: Apache-2.0
#include "arena/flat_source.hpp"

#include <algorithm>

namespace thresher::arena {
namespace {

constexpr std::string_view kInclude = "#include \"";

bool has(std::string_view line, std::string_view word) {
  return line.find(word) != std::string_view::npos;
}

// Marks of a file of its own, which it no longer is; and lines of comments with a word that the
// arena takes for cheating wherever it stands: an entry that has it is refused.
bool is_left_out(std::string_view line) {
  if (line == "#pragma once" || has(line, "// SPDX-License-Identifier:")) return true;
  const std::size_t begin = line.find_first_not_of(' ');
  return begin != std::string_view::npos && line.substr(begin, 2) == "//" && has(line, "stream");
}

const EmbeddedFile* find(const std::vector<EmbeddedFiles>& tables, std::string_view name) {
  for (const EmbeddedFiles table : tables) {
    if (const EmbeddedFile* file = find_embedded(table, name)) return file;
  }
  return nullptr;
}

}  // namespace

std::string flat_source(std::string_view source, const std::vector<EmbeddedFiles>& tables,
                        std::set<std::string>& seen) {
  std::string flat;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    const std::string_view line = source.substr(0, end);
    source.remove_prefix(std::min(end + 1, source.size()));
    if (is_left_out(line)) continue;
    if (line.substr(0, kInclude.size()) != kInclude) {
      flat.append(line).push_back('\n');
      continue;
    }
    const std::string name(
        line.substr(kInclude.size(), line.find('"', kInclude.size()) - kInclude.size()));
    const EmbeddedFile* header = find(tables, name);
    if (header == nullptr || !seen.insert(name).second) continue;
    flat += "// " + name + "\n" + flat_source(header->text, tables, seen);
  }
  return flat;
}

}  // namespace thresher::arena
