// SPDX-License-Identifier: Apache-2.0
// The build gate: from what a contestant is to what a worker can run.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "referee/contestant/contestant.hpp"
#include "referee/fault.hpp"
#include "referee/timing/contest.hpp"

namespace thresher::referee {

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

}  // namespace thresher::referee
