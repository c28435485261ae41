// SPDX-License-Identifier: Apache-2.0
// A call of a plan in the emulator: its operands in the emulator's device memory, and the plan's
// launches run on them. Inputs are copied, so that kernels see the alignment that a driver's
// allocations have, and may not be written; results go straight to the caller's C.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/device.hpp"
#include "emulated/kernel_set.hpp"
#include "emulator/device_memory.hpp"
#include "gpu/sm90/gemm_plan.hpp"

namespace thresher::emulated {

// Few SMs: then blocks walk over several tiles even of a small problem, as on a device with many
// groups.
inline constexpr SmLimits kFewSms{.sm_count = 3};

// Host memory with the alignment that a driver's allocations have.
using AlignedBytes = std::unique_ptr<std::uint8_t, void (*)(void*)>;
AlignedBytes allocate_aligned(std::size_t bytes);

class DeviceCall {
 public:
  // The operands must fit the problem; all groups together may have `tokens_max` tokens. C must
  // outlive the call; the inputs need not.
  DeviceCall(const Problem& problem, const Operands& operands, std::int64_t tokens_max);

  // Runs the prologue and all launches of the plan, one after the other. `seed` chooses the order
  // of events in them. Throws Error saying what a kernel did wrong, and in which launch.
  void run(const gpu::sm90::GemmPlan& plan, const KernelSet& kernels, std::uint64_t seed);

 private:
  template <typename T>
  const T* upload(std::span<const T> values, const char* name);
  const void* upload_bytes(const void* first, std::int64_t byte_count, const char* name);
  // The same rows as the device sees them.
  Rows upload_rows(const Rows& rows, std::int64_t row_count, const Group& group);
  void run_launches(const gpu::sm90::GemmPlan& plan, const KernelSet& kernels,
                    std::uint8_t* workspace, std::uint64_t seed);

  Problem problem_;  // with the tokens that the groups have now
  std::vector<AlignedBytes> uploads_;
  emulator::DeviceMemory memory_;
  gpu::sm90::GroupTable table_;
};

}  // namespace thresher::emulated
