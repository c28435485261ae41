// SPDX-License-Identifier: Apache-2.0
// An open GPU: the device, the compiler for it, and the cache of what was compiled. What tools that
// bring kernels of their own ask an engine for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "gpu/runtime/compiler.hpp"
#include "gpu/runtime/cubin_cache.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/module.hpp"

namespace thresher::gpu {

struct Gpu {
  Device device;
  Compiler compiler;
  CubinCache cache;
  int driver_version = 0;

  // The kernels of a source, with what the compiler said of them.
  Compilation compile(const CompileRequest& request) const {
    return cache.get(compiler, request, driver_version);
  }
};

// Which GPU an engine's options mean: 1 for "gpu:1". Throws Error if the text means none.
int device_index(const EngineOptions& options);

// Empty, or why there is no such GPU, or no driver, or no compiler.
std::string why_not_gpu(const EngineOptions& options);
Gpu open_gpu(const EngineOptions& options);

// From 2 to 64 copies: so many that what one call read is gone from the L2 when its copy's turn
// comes again.
std::size_t cold_copy_count(double weight_bytes, std::size_t l2_bytes);

// A device of the engine that is a GPU, whatever its architecture.
class GpuDevice : public backend::Device {
 public:
  GpuDevice(const Backend& backend, Gpu gpu, std::string name)
      : Device(backend, std::move(name)), gpu_(std::move(gpu)) {}

  const Gpu& gpu() const { return gpu_; }

  std::string description() const override;
  void synchronize() const override { gpu_.device.synchronize(); }
  std::vector<backend::Fact> facts() const override;
  std::size_t cache_bytes() const override { return gpu_.device.properties().l2_bytes; }
  std::size_t cold_copies(double bytes, std::size_t on_host) const override;
  std::size_t packs_at_a_time() const override;
  std::unique_ptr<backend::Buffer> mirror(std::size_t bytes) const override;
  // Streams keep calls in order.
  std::unique_lock<std::mutex> turn(std::mutex& mutex) const override {
    return std::unique_lock(mutex, std::defer_lock);
  }
  int clock_mhz() const override;
  std::unique_ptr<backend::Buffer> allocate(std::size_t bytes) const override;

 private:
  Gpu gpu_;
};

// Null if the engine's device is no GPU.
const Gpu* find_gpu(const Engine& engine);
// Throws Error then.
const Gpu& gpu_of(const Engine& engine);

}  // namespace thresher::gpu
