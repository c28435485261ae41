// SPDX-License-Identifier: Apache-2.0
// Runs a kernel on the CPU, the way a GPU would: every thread of every block as a fibre, in a
// random order; bulk copies and MMAs complete at random moments between their issue and the wait
// that forces them. The same seed repeats the same run.
//
// A kernel is a callable that speaks gpu/hw/hw.cuh. What it does wrong is thrown as Error: one
// sentence that says which thread of which block did what at which address.
#pragma once

#include <cstdint>
#include <functional>

namespace thresher::emulator {

class DeviceMemory;

struct LaunchOptions {
  int block_count = 1;
  int thread_count = 128;  // per block, a multiple of 32 up to 1024
  std::uint32_t shared_bytes = 0;
  std::uint64_t seed = 0;
  // Global memory the kernel may touch; null: none.
  const DeviceMemory* memory = nullptr;
  // How many blocks run at a time. Blocks that wait for each other must all be resident.
  int resident_block_count = 2;
  // Per thread at the start; 0: as many as a block of this size can have. Matters to kernels that
  // move registers between warpgroups.
  int register_count = 0;
};

// Launches follow one another, so a kernel sees all that earlier launches wrote.
void launch(const LaunchOptions& options, const std::function<void()>& kernel);

}  // namespace thresher::emulator
