// SPDX-License-Identifier: Apache-2.0
// The steps that all contestants with a source share: find it, compile it in the sandbox, put the
// result out of the contestant's reach.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "referee/contestant/build.hpp"

namespace thresher::referee {

// Throws Error if there is no such file.
std::filesystem::path source_path(const Contestant& contestant);

// So that a contestant with another user id can read the copy. Throws Error.
void copy_readable(const std::filesystem::path& from, const std::filesystem::path& to);

// Runs a compiler until it ends; a fault quotes what it wrote to stderr. `name` is the source's.
std::optional<Fault> run_compiler(const Job& job, const std::string& name,
                                  const std::filesystem::path& scratch,
                                  const BuildOptions& options);

}  // namespace thresher::referee
