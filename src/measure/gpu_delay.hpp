// SPDX-License-Identifier: Apache-2.0
// A kernel that does nothing for a given time: it keeps the device busy until the host has queued
// what is to be timed, and it is the known delay of the referee's controls.
#pragma once

#include <cstdint>

#include "gpu/runtime/gpu.hpp"
#include "gpu/runtime/module.hpp"
#include "gpu/runtime/stream.hpp"

namespace thresher::measure {

class GpuDelay {
 public:
  // Compiles the kernel, or takes it from the GPU's cache.
  explicit GpuDelay(const gpu::Gpu& gpu);

  void enqueue(const gpu::Stream& stream, std::int64_t ns) const;

 private:
  gpu::Kernel kernel_;
};

}  // namespace thresher::measure
