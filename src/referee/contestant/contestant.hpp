// SPDX-License-Identifier: Apache-2.0
// Anything that can enter a match. All kinds run as child processes that speak one protocol
// (docs/contestants.md): a variant, a shared library and a CUDA source inside our own worker, a
// command as itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.hpp"
#include "referee/contestant/cuda_launches.hpp"

namespace thresher {

enum class ContestantKind : std::uint8_t { kVariant, kLibrary, kCommand, kCuda };

std::string_view to_string(ContestantKind kind);  // "variant", "library", "command", "cuda"

struct Contestant {
  ContestantKind kind = ContestantKind::kVariant;
  std::string name;                  // the one identifier: variant name, or the pitch's name
  std::string variant;               // kVariant
  std::filesystem::path source;      // kLibrary: a .so, or a .c/.cpp that the referee compiles;
                                     // kCuda: a .cu
  std::vector<std::string> command;  // kCommand: program and arguments
  std::filesystem::path folder;      // relative paths of `source` and `command` start here
  std::string backend = "cpu";       // where operands lie; backend_of() is what counts
  CudaLaunches launches;             // kCuda
};

// A variant's name and a CUDA source say for themselves, everything else by its `backend`: a
// question to the venues (venue.cpp).
const Backend& backend_of(const Contestant& contestant);

// A variant of the engine, entered under its own name.
Contestant variant_named(const std::string& variant);

// Hash (hex) of what would run: the variant's name and our build, the source file with all that it
// includes and its launches, or the command and the files it names that contestants may read.
// Changes whenever the contestant could behave differently.
std::string contestant_hash(const Contestant& contestant);

}  // namespace thresher
