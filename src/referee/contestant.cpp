// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>

#include "referee/sha256.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kWords = {"variant", "library", "command"};

std::string hash_of_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw Error(fmt::format("cannot read {}", path.string()));
  return sha256_hex(bytes);
}

}  // namespace

std::string_view to_string(ContestantKind kind) { return kWords[static_cast<std::size_t>(kind)]; }

std::string contestant_hash(const Contestant& contestant) {
  // Lengths in front, so that no two contestants make the same text.
  std::string text = fmt::format("{}\n", to_string(contestant.kind));
  const auto add = [&](std::string_view part) {
    text += fmt::format("{}:{}\n", part.size(), part);
  };
  switch (contestant.kind) {
    case ContestantKind::kVariant:
      add(contestant.variant);
      add(hash_of_file("/proc/self/exe"));
      break;
    case ContestantKind::kLibrary:
      add(hash_of_file(contestant.folder / contestant.source));
      break;
    case ContestantKind::kCommand:
      for (const std::string& word : contestant.command) {
        add(word);
        const fs::path path = contestant.folder / word;
        if (fs::is_regular_file(path)) add(hash_of_file(path));
      }
      break;
  }
  return sha256_hex(text);
}

}  // namespace thresher
