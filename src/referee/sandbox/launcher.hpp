// SPDX-License-Identifier: Apache-2.0
// The inside of `thresher worker`: puts itself into the sandbox, then does its job.
//
// Three processes, so that nothing a contestant starts outlives it:
//   launcher   the referee's child; enters the namespaces, then only waits
//   keeper     process 1 of the new process namespace: when it ends, the kernel ends all others
//   contestant the process that gives up its rights and runs foreign code
// Without a process namespace the launcher is the keeper, and the process group has to do.
//
// They report to the referee on descriptor kControlFd, one line each: "refused <layer: why>",
// "started", "failed <why>", "exit <code>", "signal <number>". The contestant's own code never
// has that descriptor.
#pragma once

#include "referee/sandbox/job.hpp"

namespace thresher::referee {

inline constexpr int kControlFd = 5;
// The PATH of all that runs in a sandbox.
inline constexpr const char* kSandboxPath = "/usr/local/bin:/usr/bin:/bin";
// What numbers the GPUs that a process sees: without these another one answers to the number that
// the referee names.
inline constexpr const char* kGpuNumbering[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};

// Never returns: the process ends when the contestant has ended.
[[noreturn]] void launch(const WorkOrder& order);

}  // namespace thresher::referee
