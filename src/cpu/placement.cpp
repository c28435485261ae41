// SPDX-License-Identifier: Apache-2.0
#include "cpu/placement.hpp"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace thresher::cpu {

#if defined(__linux__)

Placement::Placement() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores_.push_back(core);
  }
}

void Placement::make_room(std::span<std::thread> workers) {
  // With more threads than cores some have to share, and the system knows best which.
  if (workers.empty() || workers.size() >= cores_.size()) return;
  const int here = sched_getcpu();
  if (here == left_free_) return;
  left_free_ = here;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores_) {
    if (core != here) CPU_SET(core, &set);
  }
  // A refusal leaves a thread where it may run already, which is only slower.
  for (std::thread& worker : workers) {
    pthread_setaffinity_np(worker.native_handle(), sizeof set, &set);
  }
}

#else

Placement::Placement() = default;
void Placement::make_room(std::span<std::thread>) {}

#endif

}  // namespace thresher::cpu
