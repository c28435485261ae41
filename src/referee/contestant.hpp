// SPDX-License-Identifier: Apache-2.0
// Anything that can enter a match. All kinds run as child processes that speak one protocol
// (docs/contestants.md): a variant and a shared library inside our own worker, a command as itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace thresher {

enum class ContestantKind : std::uint8_t { kVariant, kLibrary, kCommand };

std::string_view to_string(ContestantKind kind);  // "variant", "library", "command"

struct Contestant {
  ContestantKind kind = ContestantKind::kVariant;
  std::string name;                  // the one identifier: variant name, or the pitch's name
  std::string variant;               // kVariant
  std::filesystem::path source;      // kLibrary: a .so, or a .c/.cpp that the referee compiles
  std::vector<std::string> command;  // kCommand: program and arguments
  std::filesystem::path folder;      // relative paths of `source` and `command` start here
};

// Hash (hex) of what would run: the variant's name and our build, the source file, or the command
// and the files it names. Changes whenever the contestant could behave differently.
std::string contestant_hash(const Contestant& contestant);

}  // namespace thresher
