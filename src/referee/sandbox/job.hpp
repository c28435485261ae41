// SPDX-License-Identifier: Apache-2.0
// What a sandboxed process is started for: the order that the referee hands to `thresher worker`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "referee/contestant/cuda_launches.hpp"
#include "referee/sandbox/sandbox.hpp"

namespace thresher::referee {

enum class JobKind : std::uint8_t {
  kVariant,  // serve the protocol with a variant of the engine
  kLibrary,  // serve it with a shared library
  kCommand,  // become another program: a contestant that speaks the protocol itself, or a compiler
  kProbe,    // end at once, having found out what the sandbox gets
  kCuda,     // serve it with compiled CUDA kernels
  kCompile,  // compile a CUDA source and end
};

// What a job needs to know of CUDA.
struct CudaSetting {
  int device_index = 0;
  std::filesystem::path kernel_folder;        // compiled kernels of ours, to read
  std::vector<std::string> compiler_folders;  // where NVRTC may lie
  std::string architecture;                   // kCompile: "sm_90a"
  std::filesystem::path origin;               // kCompile: the folder of what the source includes
  CudaLaunches launches;                      // kCuda, kCompile
};

struct Job {
  JobKind kind = JobKind::kProbe;
  std::string variant;               // kVariant; empty: the engine's choice
  std::filesystem::path library;     // kLibrary; kCuda: the cubin; kCompile: the source
  std::vector<std::string> command;  // kCommand
  std::filesystem::path folder;      // kCommand: where it runs; kCompile: where the cubin goes
  std::string backend = "cpu";       // whose venue it is
  CudaSetting cuda;
};

struct WorkOrder {
  Job job;
  SandboxLimits limits;
  std::filesystem::path scratch;  // the one folder it may write to
  bool leaves_files = false;      // what it writes there is for the referee
  // Beside the system's own files it may read these alone; empty: whatever its user may.
  std::vector<std::filesystem::path> readable;
  std::int64_t referee_pid = 0;      // who must be alive for this to make sense
  std::vector<std::string> doors;    // of the cage (cage.hpp)
  bool memory_is_counted = false;    // from outside, because no cage limits it
  bool processes_are_caged = false;  // their number is limited by it
  Confinement confinement;
};

// One line of JSON.
std::string to_text(const WorkOrder& order);
// Throws Error when `text` is not what to_text wrote.
WorkOrder work_order_from_text(std::string_view text);

}  // namespace thresher::referee
