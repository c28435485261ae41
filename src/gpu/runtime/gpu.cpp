// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gpu/runtime/device_report.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/nvml.hpp"
#include "parallel.hpp"

namespace thresher::gpu {
namespace {

class GpuBuffer : public backend::Buffer {
 public:
  explicit GpuBuffer(DeviceBuffer buffer) : buffer_(std::move(buffer)) {}
  void* data() const override { return buffer_.pointer<void>(); }
  std::size_t bytes() const override { return buffer_.bytes(); }
  void copy_in(std::span<const std::byte> from, std::size_t offset) const override {
    buffer_.copy_in(from, offset);
  }
  void copy_out(std::span<std::byte> to, std::size_t offset) const override {
    buffer_.copy_out(to, offset);
  }

 private:
  DeviceBuffer buffer_;
};

NvrtcLookup find_compiler(const EngineOptions& options, const Driver& driver) {
  return find_nvrtc(
      {.folders = options.compiler_folders, .driver_version = driver_version(driver)});
}

}  // namespace

int device_index(const EngineOptions& options) {
  const std::string& text = options.device;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return 0;
  int index = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, index);
  if (error == std::errc{} && stop == end && index >= 0) return index;
  throw Error(fmt::format("device '{}' is not gpu, or gpu: and a number", text));
}

std::string why_not_gpu(const EngineOptions& options) {
  const int index = device_index(options);
  const DriverLookup& found = find_driver();
  if (found.driver == nullptr) return found.why_not;
  const int count = device_count(*found.driver);
  if (index >= count) return fmt::format("there is no GPU {}: this machine has {}", index, count);
  return find_compiler(options, *found.driver).why_not;
}

Gpu open_gpu(const EngineOptions& options) {
  const Driver& driver = *find_driver().driver;
  return {.device = Device(driver, device_index(options)),
          .compiler = Compiler(*find_compiler(options, driver).nvrtc),
          .cache = options.cache_folder ? CubinCache(*options.cache_folder) : CubinCache(),
          .driver_version = driver_version(driver)};
}

std::string GpuDevice::description() const {
  const DeviceProperties& device = gpu_.device.properties();
  return fmt::format("{} ({}), {} SMs", device.name, device.architecture(), device.sm_count);
}

std::vector<backend::Fact> GpuDevice::facts() const {
  const DeviceProperties& device = gpu_.device.properties();
  return {{"device", device.name},
          {"class", machine_class(device)},
          {"architecture", device.architecture()},
          {"driver", "CUDA " + cuda_version_text(gpu_.driver_version)},
          {"compiler", gpu_.compiler.version()},
          {"memory_bytes", static_cast<std::int64_t>(device.memory_bytes)},
          {"l2_bytes", static_cast<std::int64_t>(device.l2_bytes)}};
}

std::size_t cold_copy_count(double weight_bytes, std::size_t l2_bytes) {
  const double wanted = 2.2 * static_cast<double>(l2_bytes);
  return static_cast<std::size_t>(
      std::clamp(std::ceil(wanted / std::max(weight_bytes, 1.0)) + 1, 2.0, 64.0));
}

std::size_t GpuDevice::cold_copies(double bytes, std::size_t) const {
  return cold_copy_count(bytes, cache_bytes());
}

// Packing takes threads of its own each time, and a sandbox allows for so many in all.
std::size_t GpuDevice::packs_at_a_time() const {
  constexpr std::size_t kPackingThreadsMax = 64;
  return std::max<std::size_t>(
      1, kPackingThreadsMax / static_cast<std::size_t>(hardware_thread_count()));
}

std::unique_ptr<backend::Buffer> GpuDevice::mirror(std::size_t bytes) const {
  return allocate(std::max<std::size_t>(bytes, 1));
}

int GpuDevice::clock_mhz() const {
  const Nvml* nvml = find_nvml().nvml;
  return nvml == nullptr ? 0 : read_clocks(*nvml, pci_bus_id(gpu_.device)).sm_mhz;
}

std::unique_ptr<backend::Buffer> GpuDevice::allocate(std::size_t bytes) const {
  return std::make_unique<GpuBuffer>(DeviceBuffer(gpu_.device, bytes));
}

const Gpu* find_gpu(const Engine& engine) {
  const auto* device = dynamic_cast<const GpuDevice*>(&engine.state());
  return device == nullptr ? nullptr : &device->gpu();
}

const Gpu& gpu_of(const Engine& engine) {
  const Gpu* gpu = find_gpu(engine);
  if (gpu == nullptr) throw Error(fmt::format("device '{}' is no GPU", engine.device()));
  return *gpu;
}

}  // namespace thresher::gpu
