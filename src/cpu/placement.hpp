// SPDX-License-Identifier: Apache-2.0
// Keeps the threads of a pool off the core that its caller runs on.
//
// Left alone, a kernel may wake a sleeping thread on the core of whoever wakes it and leave it
// there for a whole call: inside a virtual machine it takes a halted core for one that the host has
// taken away. Two threads then share a core while another idles. This rules out that one core, and
// nothing else: among the others the system chooses.
#pragma once

#include <span>
#include <thread>
#include <vector>

namespace thresher::cpu {

class Placement {
 public:
  // Remembers the cores that the calling thread may use.
  Placement();

  // Called by the thread that is about to wake `workers`. A system call per worker when the caller
  // has changed its core since the last time; otherwise next to nothing.
  void make_room(std::span<std::thread> workers);

 private:
  std::vector<int> cores_;
  int left_free_ = -1;
};

}  // namespace thresher::cpu
