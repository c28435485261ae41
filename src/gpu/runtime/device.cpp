// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device.hpp"

#include <fmt/format.h>

#include "assert.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu {
namespace {

constexpr int kHopperMajor = 9;

int attribute(const Driver& driver, cuda::DeviceAttribute which, cuda::DeviceHandle device) {
  int value = 0;
  check(driver, driver.cuDeviceGetAttribute(&value, which, device),
        [&] { return fmt::format("cuDeviceGetAttribute({})", static_cast<int>(which)); });
  return value;
}

std::size_t byte_attribute(const Driver& driver, cuda::DeviceAttribute which,
                           cuda::DeviceHandle device) {
  return static_cast<std::size_t>(attribute(driver, which, device));
}

// For the limits nobody depends on: newer drivers may stop stating them.
int attribute_or_zero(const Driver& driver, cuda::DeviceAttribute which,
                      cuda::DeviceHandle device) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, which, device) == cuda::kSuccess ? value : 0;
}

}  // namespace

std::string DeviceProperties::architecture() const {
  return fmt::format("sm_{}{}{}", compute_major, compute_minor,
                     compute_major >= kHopperMajor ? "a" : "");
}

int device_count(const Driver& driver) {
  int count = 0;
  check(driver, driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

DeviceProperties device_properties(const Driver& driver, int index) {
  const int count = device_count(driver);
  if (index < 0 || index >= count) {
    throw Error(fmt::format("GPU {}: there is no such device; this machine has {}, numbered from 0",
                            index, count));
  }
  cuda::DeviceHandle device = 0;
  check(driver, driver.cuDeviceGet(&device, index),
        [&] { return fmt::format("cuDeviceGet({})", index); });
  char name[256] = {};
  check(driver, driver.cuDeviceGetName(name, sizeof(name) - 1, device), "cuDeviceGetName");
  std::size_t memory_bytes = 0;
  check(driver, driver.cuDeviceTotalMem(&memory_bytes, device), "cuDeviceTotalMem");
  return {
      .name = name,
      .compute_major = attribute(driver, cuda::kComputeCapabilityMajor, device),
      .compute_minor = attribute(driver, cuda::kComputeCapabilityMinor, device),
      .sm_count = attribute(driver, cuda::kMultiprocessorCount, device),
      .registers_per_sm = attribute(driver, cuda::kRegistersPerMultiprocessor, device),
      .threads_per_block_max = attribute(driver, cuda::kMaxThreadsPerBlock, device),
      .memory_bytes = memory_bytes,
      .l2_bytes = byte_attribute(driver, cuda::kL2CacheBytes, device),
      .shared_bytes_per_sm = byte_attribute(driver, cuda::kSharedBytesPerMultiprocessor, device),
      .shared_bytes_per_block_max = byte_attribute(driver, cuda::kSharedBytesPerBlockOptIn, device),
      .clock_khz = attribute_or_zero(driver, cuda::kClockRateKhz, device),
      .memory_clock_khz = attribute_or_zero(driver, cuda::kMemoryClockRateKhz, device),
      .memory_bus_bits = attribute_or_zero(driver, cuda::kMemoryBusBits, device),
      .pageable_access = attribute_or_zero(driver, cuda::kPageableMemoryAccess, device) != 0,
  };
}

Device::Device(const Driver& driver, int index) : properties_(device_properties(driver, index)) {
  context_ = std::make_shared<Context>(driver, index);
}

const std::shared_ptr<Context>& Device::context() const {
  THRESHER_ASSERT(context_ != nullptr);  // not after a move
  return context_;
}

MemoryUse Device::memory_use() const {
  context()->make_current();
  MemoryUse use;
  context_->check(context_->driver().cuMemGetInfo(&use.free_bytes, &use.total_bytes),
                  "cuMemGetInfo");
  return use;
}

LaunchCounts Device::launch_counts() const {
  return {.kernels = context()->kernel_launches.load(), .graphs = context_->graph_launches.load()};
}

void Device::synchronize() const {
  context()->make_current();
  context_->check(context_->driver().cuCtxSynchronize(), "cuCtxSynchronize");
}

}  // namespace thresher::gpu
