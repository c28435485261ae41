// SPDX-License-Identifier: Apache-2.0
// The build gate: from what a contestant is to what a worker can run.
#pragma once

#include <filesystem>
#include <optional>

#include "referee/contestant.hpp"
#include "referee/fault.hpp"
#include "referee/job.hpp"

namespace thresher::referee {

struct BuildOptions {
  std::filesystem::path program;  // the thresher binary; empty means the running one
  std::filesystem::path folder;   // where libraries are put; contestants may read it
  double timeout_seconds = 60;    // for the compiler
};

struct BuildResult {
  std::optional<Fault> fault;
  Job job;
};

// Sources are compiled in the sandbox, because a compiler reads whatever a source includes. Throws
// Error for what only the operator can mend: no compiler, no such file.
BuildResult build(const Contestant& contestant, const BuildOptions& options);

}  // namespace thresher::referee
