// SPDX-License-Identifier: Apache-2.0
// The build gate: from what a contestant is to what a worker can run. build.cpp has the steps that
// all contestants with a source share and those on the CPU, build_gpu.cpp those on a GPU; which of
// them a contestant takes is for its venue to say (venue.hpp).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/runtime/device.hpp"
#include "referee/contestant/contestant.hpp"
#include "referee/contestant/sources.hpp"
#include "referee/fault.hpp"
#include "referee/sandbox/job.hpp"

namespace thresher {

namespace referee {

class RefereeGpu;

struct BuildOptions {
  std::filesystem::path program;        // the thresher binary; empty means the running one
  std::filesystem::path folder;         // where libraries are put; contestants may read it
  Confinement confinement;              // of the compiler
  double timeout_seconds = 60;          // for it
  const RefereeGpu* gpu = nullptr;      // for contestants on one
  std::span<const Problem> problems{};  // whose kernels are compiled ahead, on a GPU
};

// A contestant after the build gate.
struct Side {
  Job job;
  // On a GPU: launches of one call, by problem of the suite. Empty where they cannot be seen.
  std::vector<gpu::LaunchCounts> launches;
};

struct BuildResult {
  std::optional<Fault> fault;
  Side side;
};

// From `sources`, as they were read (sources.hpp), and compiled in the sandbox, because a compiler
// reads whatever a source includes. Throws Error for what only the operator can mend: no compiler,
// no GPU.
BuildResult build(const Contestant& contestant, const std::vector<SourceFile>& sources,
                  const BuildOptions& options);

// The venues' own parts of it.
BuildResult build_for_cpu(const Contestant& contestant, const std::vector<SourceFile>& sources,
                          const BuildOptions& options);
BuildResult build_for_gpu(const Contestant& contestant, const std::vector<SourceFile>& sources,
                          const BuildOptions& options);

// As its author would name it; the sources' own paths have no links.
std::filesystem::path source_path(const Contestant& contestant);

// So that a contestant with another user id can read the copy. Throws Error.
void copy_readable(const std::filesystem::path& from, const std::filesystem::path& to);

// How people know the source: from where they are, if it lies below.
std::string shown_path(const std::filesystem::path& source);

// What a compiler calls a source, and how people know it.
struct SourceNames {
  std::string shown;
  // Paths of the referee's own, in the order they are looked for, and what stands for them.
  std::vector<std::pair<std::string, std::string>> replaced = {};
};

// The beginning of a compiler's messages as lines for people: with paths they know, without control
// characters, in UTF-8.
std::string compiler_lines(std::string_view messages, const SourceNames& names);

// Throws Error when the disk of the folder is full: whatever failed there, its author can do
// nothing about it.
void check_room(const std::filesystem::path& folder);

// Runs a compiler until it ends; a fault quotes what it wrote to stderr. It finds no files but the
// system's and those in `readable`.
std::optional<Fault> run_compiler(const Job& job, const SourceNames& names,
                                  const std::filesystem::path& scratch,
                                  const std::vector<std::filesystem::path>& readable,
                                  const BuildOptions& options);

}  // namespace referee
}  // namespace thresher
