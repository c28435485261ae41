// SPDX-License-Identifier: Apache-2.0
// A call of a plan in the emulator: its operands in the emulator's device memory, and the plan's
// launches run on them. Inputs are copied, so that kernels see the alignment that a driver's
// allocations have, and may not be written; results go straight to the caller's C. Who may see
// whose writes is followed from one call to the next (emulator/global_history.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.hpp"
#include "emulated/kernel_set.hpp"
#include "emulator/device_memory.hpp"
#include "emulator/global_history.hpp"
#include "emulator/launch.hpp"
#include "gpu/gemm/gemm_plan.hpp"

namespace thresher::emulated {

// Few SMs: then blocks walk over several tiles even of a small problem, as on a device with many
// groups.
inline constexpr SmLimits kFewSms{.sm_count = 3};

// Host memory with the alignment that a driver's allocations have.
using AlignedBytes = std::unique_ptr<std::uint8_t, void (*)(void*)>;
AlignedBytes allocate_aligned(std::size_t bytes);

// What calls share: the workspace, and the counters of a call, which are zero between its runs.
class CallMemory {
 public:
  // A workspace of its own.
  explicit CallMemory(const gpu::GemmPlan& plan);
  // The caller's, at least as large as the plan's.
  CallMemory(const gpu::GemmPlan& plan, std::uint8_t* workspace);

  std::uint8_t* workspace() const { return workspace_; }
  std::uint8_t* counters() const { return counters_.get(); }

 private:
  AlignedBytes own_;
  std::uint8_t* workspace_;
  AlignedBytes counters_;
};

// How the launches of a call run.
struct CallRun {
  std::uint64_t seed = 1;  // chooses the order of events in them
  emulator::TensorSums tensor_sums = emulator::TensorSums::kInOrder;  // of block-scaled MMAs
  gpu::Launches launches = gpu::Launches::kGrouped;
  emulator::GlobalHistory* history = nullptr;  // null: nothing happened before
};

class DeviceCall {
 public:
  // The operands must fit the problem; all groups together may have `tokens_max` tokens. C must
  // outlive the call; the inputs need not. `weights_by_map`: as the plan's kernels want them.
  DeviceCall(const Problem& problem, const Operands& operands, std::int64_t tokens_max,
             bool weights_by_map = false);

  // Runs the prologue and all launches of the plan, one after the other. Throws Error saying what
  // a kernel did wrong, and in which launch.
  void run(const gpu::GemmPlan& plan, const KernelSet& kernels, const CallMemory& memory,
           const CallRun& how);

 private:
  // `origin`: what stands there on the device, and may have been written by it; null: a constant.
  const void* upload(const void* first, std::int64_t byte_count, const char* name,
                     const void* origin = nullptr);
  // The tensor map of a group's packed weights.
  const void* upload_map(const void* packed, const Group& group);
  // The same rows as the device sees them.
  Rows upload_rows(const Rows& rows, std::int64_t row_count, const Group& group);
  void run_launches(const gpu::GemmPlan& plan, const KernelSet& kernels, const CallMemory& memory,
                    const CallRun& how);
  gpu::GemmArgs call_args(const gpu::GemmPlan& plan, const gpu::GemmLaunch& launch,
                          const CallMemory& memory) const;

  Problem problem_;  // with the tokens that the groups have now
  std::vector<AlignedBytes> uploads_;
  emulator::DeviceMemory memory_;
  gpu::GroupTable table_;
};

}  // namespace thresher::emulated
