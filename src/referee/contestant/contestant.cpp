// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/contestant.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <sstream>

#include "digest/sha256.hpp"
#include "engine/backends.hpp"
#include "referee/contestant/sources.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> kKindWords = {"variant", "library", "command", "cuda"};

std::string hash_of_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  if (!stream.is_open() || stream.bad()) throw Error(fmt::format("cannot read {}", path.string()));
  return sha256_hex(std::move(bytes).str());
}

// The source, then names and contents of all that it includes. Where something is moved as a whole
// the hash stays.
std::vector<std::string> hashed_sources(const std::vector<referee::SourceFile>& sources) {
  const fs::path folder = sources.front().path.parent_path();
  std::vector<std::string> parts{sha256_hex(sources.front().text)};
  for (std::size_t i = 1; i < sources.size(); ++i) {
    parts.push_back(sources[i].path.lexically_relative(folder).generic_string());
    parts.push_back(sha256_hex(sources[i].text));
  }
  return parts;
}

// The code behind every variant. It does not change while it runs, and it is large.
const std::string& hash_of_this_program() {
  static const std::string hash = hash_of_file("/proc/self/exe");
  return hash;
}

}  // namespace

std::string_view to_string(ContestantKind kind) {
  return kKindWords[static_cast<std::size_t>(kind)];
}

Contestant variant_named(const std::string& variant) {
  return {.kind = ContestantKind::kVariant,
          .name = variant,
          .variant = variant,
          .backend = std::string(backend_of_variant(variant).name)};
}

std::string contestant_hash(const Contestant& contestant) {
  return referee::hash_as_read(contestant, referee::read_sources(contestant));
}

std::string referee::hash_as_read(const Contestant& contestant,
                                  const std::vector<SourceFile>& sources) {
  // Lengths in front, so that no two contestants make the same text.
  std::string text = fmt::format("{}\n", to_string(contestant.kind));
  const auto add = [&](std::string_view part) {
    text += fmt::format("{}:{}\n", part.size(), part);
  };
  switch (contestant.kind) {
    case ContestantKind::kVariant:
      add(contestant.variant);
      add(hash_of_this_program());
      break;
    case ContestantKind::kLibrary:
      for (const std::string& part : hashed_sources(sources)) add(part);
      break;
    case ContestantKind::kCommand:
      for (const std::string& word : contestant.command) {
        add(word);
        const std::optional<std::string> bytes = read_named_file(contestant.folder / word);
        if (bytes) add(sha256_hex(*bytes));
      }
      break;
    case ContestantKind::kCuda:
      for (const std::string& part : hashed_sources(sources)) add(part);
      add(to_text(contestant.launches));
      break;
  }
  // Left out for the default: ledgers hold hashes from before there was another backend.
  const std::string_view backend = backend_of(contestant).name;
  if (backend != Contestant{}.backend) add(backend);
  return sha256_hex(text);
}

}  // namespace thresher
