// SPDX-License-Identifier: Apache-2.0
// The build gate: from what a contestant is to what a worker can run. build.cpp has the steps that
// all contestants with a source share and those on the CPU, build_gpu.cpp those on a GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "referee/contestant/contestant.hpp"
#include "referee/fault.hpp"
#include "referee/timing/contest.hpp"

namespace thresher {

namespace referee {

struct BuildOptions {
  std::filesystem::path program;        // the thresher binary; empty means the running one
  std::filesystem::path folder;         // where libraries are put; contestants may read it
  double timeout_seconds = 60;          // for the compiler
  const RefereeGpu* gpu = nullptr;      // for contestants on one
  std::span<const Problem> problems{};  // whose kernels are compiled ahead, on a GPU
};

struct BuildResult {
  std::optional<Fault> fault;
  Side side;
};

// Sources are compiled in the sandbox, because a compiler reads whatever a source includes. Throws
// Error for what only the operator can mend: no compiler, no such file, no GPU.
BuildResult build(const Contestant& contestant, const BuildOptions& options);
BuildResult build_for_gpu(const Contestant& contestant, const BuildOptions& options);

// Throws Error if there is no such file.
std::filesystem::path source_path(const Contestant& contestant);

// So that a contestant with another user id can read the copy. Throws Error.
void copy_readable(const std::filesystem::path& from, const std::filesystem::path& to);

// Runs a compiler until it ends; a fault quotes what it wrote to stderr. `name` is the source's.
std::optional<Fault> run_compiler(const Job& job, const std::string& name,
                                  const std::filesystem::path& scratch,
                                  const BuildOptions& options);

// The program of a command as the operator's PATH has it: inside the sandbox PATH is another one.
// What is not found stays as it is.
std::string found_program(const std::string& program, const char* path);

}  // namespace referee
}  // namespace thresher
