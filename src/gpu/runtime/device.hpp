// SPDX-License-Identifier: Apache-2.0
// A GPU: its context, what it is made of, and how many launches it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpu/runtime/context.hpp"

namespace thresher::gpu {

struct DeviceProperties {
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  int registers_per_sm = 0;
  int threads_per_block_max = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes_per_sm = 0;
  std::size_t shared_bytes_per_block_max = 0;  // once a kernel asks for it
  // As the driver states them: the highest clocks, not the present ones.
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  bool pageable_access = false;  // reads and writes any memory of its process

  // What NVRTC compiles for: "sm_90a". From Hopper on with the features of that very chip.
  std::string architecture() const;
};

struct MemoryUse {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

// Launches by the host: kernels one by one (those recorded by a capture too), and graphs.
struct LaunchCounts {
  std::int64_t kernels = 0;
  std::int64_t graphs = 0;

  LaunchCounts operator-(const LaunchCounts& before) const {
    return {kernels - before.kernels, graphs - before.graphs};
  }
  bool operator==(const LaunchCounts&) const = default;
};

// How many devices `driver` shows.
int device_count(const Driver& driver);

// Asks the driver alone; makes no context, which would take memory and time.
DeviceProperties device_properties(const Driver& driver, int index);

class Device {
 public:
  // Throws Error if there is no such device.
  explicit Device(const Driver& driver, int index = 0);
  Device(Device&&) noexcept = default;
  Device& operator=(Device&&) noexcept = default;

  const DeviceProperties& properties() const { return properties_; }
  MemoryUse memory_use() const;
  LaunchCounts launch_counts() const;
  // Waits for everything on every stream, and throws what went wrong there.
  void synchronize() const;

  const std::shared_ptr<Context>& context() const;

 private:
  std::shared_ptr<Context> context_;
  DeviceProperties properties_;
};

}  // namespace thresher::gpu
