// SPDX-License-Identifier: Apache-2.0
// Who of a contestant is there and what each does, read task by task from /proc: for where the
// kernel has no groups that could say it for all of them at once (cage.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace thresher::referee {

struct Census {
  int task_count = 0;
  bool all_stopped = true;         // or ended; nobody is in the middle of a system call
  bool all_bound = true;           // to the cores asked about
  std::int64_t cpu_ns = 0;         // of the processes that are there, and of their ended children
  std::int64_t memory_bytes = 0;   // of their own, without what they share
  std::int64_t written_bytes = 0;  // to files, as far as the kernel tells
};

// A process with all that descends from it. Without `cores` nobody is unbound.
Census take_census(pid_t process, const std::vector<int>& cores = {});

}  // namespace thresher::referee
