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

#include "gpu/hw/emulated_types.hpp"

namespace thresher::emulator {

class DeviceMemory;
class GlobalHistory;

// What a launch waits for before it starts: every launch before it, as a rule.
struct LaunchOrder {
  // It may start once all blocks before it have said start_next_kernel, and waits by
  // wait_for_previous_kernel.
  bool dependent = false;
  // Launches of different lanes that follow each other run side by side; those of no lane (-1) do
  // not.
  int lane = -1;
};

// How a block-scaled MMA adds (tensor_multiply.cpp): block after block, each sum rounded, or as
// published models say that the hardware does.
enum class TensorSums : std::uint8_t { kInOrder, kAligned };

struct LaunchOptions {
  int block_count = 1;
  int cluster_blocks = 1;  // blocks of a cluster: 1, 2, 4 or 8
  int thread_count = 128;  // per block, a multiple of 32 up to 1024
  std::uint32_t shared_bytes = 0;
  std::uint64_t seed = 0;
  // Global memory the kernel may touch; null: none.
  const DeviceMemory* memory = nullptr;
  // How many blocks run at a time, or a cluster at least. Blocks that wait for each other must all
  // be resident.
  int resident_block_count = 2;
  // Per thread at the start; 0: as many as a block of this size can have. Matters to kernels that
  // move registers between warpgroups.
  int register_count = 0;
  TensorSums tensor_sums = TensorSums::kInOrder;
  LaunchOrder order;
  gpu::hw::LaunchTypes types;  // of kernels that leave them to the launch
  // What the launches before did to the same memory; null: there were none.
  GlobalHistory* history = nullptr;
};

// Launches run one after the other, so a kernel sees all that earlier launches wrote; that it may
// see it is checked against their order.
void launch(const LaunchOptions& options, const std::function<void()>& kernel);

}  // namespace thresher::emulator
