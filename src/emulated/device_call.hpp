// SPDX-License-Identifier: Apache-2.0
// A call of a plan in the emulator: its operands in the emulator's device memory, and the plan's
// launches run on them. Inputs are copied, so that kernels see the alignment that a driver's
// allocations have, and may not be written; results go straight to the caller's C.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "emulated/kernel_set.hpp"
#include "emulated/packed_weights.hpp"
#include "emulator/device_memory.hpp"
#include "gpu/sm90/gemm_plan.hpp"

namespace thresher::emulated {

// What one group reads and writes, as GroupOperands of thresher/engine.hpp.
struct HostOperands {
  Nvfp4View a = {};
  const std::uint16_t* a16 = nullptr;
  const PackedWeights* weights = nullptr;
  void* c = nullptr;
  std::int64_t c_stride_elements = 0;  // 0 means n
  float alpha = 1.0f;
  float alpha_up = 1.0f;
};

// What kernels are told of the groups beyond their operands.
struct CallLayout {
  bool rows_follow = false;       // in activations and C a group's rows follow those before it
  std::int64_t tokens_spare = 0;  // by which the token limit exceeds the tokens
};

// Few SMs: then blocks walk over several tiles even of a small problem, as on a device with many
// groups.
inline constexpr gpu::sm90::DeviceLimits kFewSms{.sm_count = 3};

class DeviceCall {
 public:
  // The operands must fit the problem. C must outlive the call; the inputs need not.
  DeviceCall(const Problem& problem, std::span<const HostOperands> operands,
             const CallLayout& layout = {});

  // Runs the prologue and all launches of the plan, one after the other. `seed` chooses the order
  // of events in them. Throws Error saying what a kernel did wrong, and in which launch.
  void run(const gpu::sm90::GemmPlan& plan, const KernelSet& kernels, std::uint64_t seed);

  std::int64_t token_limit() const { return table_.token_limit; }

 private:
  using Storage = std::unique_ptr<std::uint8_t, void (*)(void*)>;
  using Operands = std::span<const HostOperands>;

  template <typename T>
  const T* upload(std::span<const T> values, const char* name);
  // Of groups whose rows follow each other.
  void add_rows(Operands operands, std::span<const Group> groups,
                std::span<gpu::sm90::GroupEntry> entries);
  void add_weights(Operands operands, std::span<gpu::sm90::GroupEntry> entries);
  void run_launches(const gpu::sm90::GemmPlan& plan, const KernelSet& kernels,
                    std::uint8_t* workspace, std::uint64_t seed);

  Problem problem_;
  std::vector<Storage> uploads_;
  emulator::DeviceMemory memory_;
  gpu::sm90::GroupTable table_;
};

}  // namespace thresher::emulated
