// SPDX-License-Identifier: Apache-2.0
// The inputs of a problem in device memory, and outputs that mirror guarded ones of the host.
#pragma once

#include <vector>

#include "cli/guarded_outputs.hpp"
#include "gemm/inputs.hpp"
#include "gpu/runtime/memory.hpp"
#include "thresher/gpu.hpp"

namespace thresher::cli {

// Host outputs with their guards, copied to the device before a call and back after it.
class DeviceOutputs {
 public:
  DeviceOutputs(const gpu::Device& device, const GuardedOutputs& outputs);

  void copy_in() const { buffer_.copy_in(std::as_bytes(outputs_.bytes())); }
  void copy_out() const { buffer_.copy_out(std::as_writable_bytes(outputs_.bytes())); }

  // Device address of a group's first element; null for groups without rows.
  void* c(std::size_t group_index) const;
  std::int64_t stride_elements(std::size_t group_index) const {
    return outputs_.stride_elements(group_index);
  }

 private:
  const GuardedOutputs& outputs_;
  gpu::DeviceBuffer buffer_;
};

class GpuProblem {
 public:
  GpuProblem(const GpuEngine& engine, const Problem& problem, const Inputs& inputs);
  // The same in other places, copied on the device.
  GpuProblem(const GpuEngine& engine, const GpuProblem& other);

  // Point into this object and into `outputs`.
  std::vector<GpuGroupOperands> operands(const DeviceOutputs& outputs) const;

 private:
  struct GroupMemory {
    gpu::DeviceBuffer codes;
    gpu::DeviceBuffer scales;
    gpu::DeviceBuffer a16;
  };

  void upload_activations(const gpu::Device& device);

  const Inputs& inputs_;
  std::vector<GpuWeights> weights_;
  std::vector<GroupMemory> activations_;
};

}  // namespace thresher::cli
