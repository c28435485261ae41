// SPDX-License-Identifier: Apache-2.0
// What a sandboxed process is started for: the order that the referee hands to `thresher worker`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "referee/sandbox.hpp"

namespace thresher::referee {

enum class JobKind : std::uint8_t {
  kVariant,  // serve the protocol with a variant of the engine
  kLibrary,  // serve it with a shared library
  kCommand,  // become another program: a contestant that speaks the protocol itself, or a compiler
  kProbe,    // end at once, having found out what the sandbox gets
};

struct Job {
  JobKind kind = JobKind::kProbe;
  std::string variant;               // kVariant; empty: the engine's choice
  std::filesystem::path library;     // kLibrary
  std::vector<std::string> command;  // kCommand
  std::filesystem::path folder;      // kCommand: where it runs
};

struct WorkOrder {
  Job job;
  SandboxLimits limits;
  std::filesystem::path scratch;  // the one folder it may write to
  std::int64_t referee_pid = 0;   // who must be alive for this to make sense
};

// One line of JSON.
std::string to_text(const WorkOrder& order);
// Throws Error when `text` is not what to_text wrote.
WorkOrder work_order_from_text(std::string_view text);

}  // namespace thresher::referee
