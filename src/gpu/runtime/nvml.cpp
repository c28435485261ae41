// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/nvml.hpp"

#include <fmt/format.h>

#include "gpu/runtime/library.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu {
namespace {

constexpr const char* kFile = "libnvidia-ml.so.1";

struct Reason {
  unsigned long long bit;
  const char* words;
};
constexpr Reason kReasons[] = {
    {0x001, "idle"},
    {0x002, "application clocks"},
    {0x004, "power cap"},
    {0x008, "hardware slowdown"},
    {0x010, "sync boost"},
    {0x020, "software thermal slowdown"},
    {0x040, "hardware thermal slowdown"},
    {0x080, "power brake"},
    {0x100, "display clocks"},
};

// Virtual GPUs and some boards do not tell everything; what they do not tell stays 0.
void check_told(const Nvml& nvml, NvmlResult result, const char* call) {
  if (result == kNvmlSuccess || result == kNvmlNotSupported) return;
  throw Error(fmt::format("{} failed: {}; look at nvidia-smi", call, nvml.nvmlErrorString(result)));
}

int clock_mhz(const Nvml& nvml, NvmlDevice device, NvmlClock clock) {
  unsigned mhz = 0;
  check_told(nvml, nvml.nvmlDeviceGetClockInfo(device, clock, &mhz), "nvmlDeviceGetClockInfo");
  return static_cast<int>(mhz);
}

std::vector<std::string> words_of(unsigned long long bits) {
  std::vector<std::string> words;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) != 0) words.emplace_back(reason.words);
    bits &= ~reason.bit;
  }
  if (bits != 0) words.push_back(fmt::format("unknown reason {:#x}", bits));
  return words;
}

}  // namespace

std::string open_nvml(const char* file, Nvml& nvml) {
  Library library(file);
  if (!library.is_open()) {
    return fmt::format("no NVML: {} does not open; it comes with the NVIDIA driver", file);
  }
  nvml.file = file;
  library.required(nvml.nvmlInit, "nvmlInit_v2");
  library.required(nvml.nvmlErrorString, "nvmlErrorString");
  library.required(nvml.nvmlDeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2");
  library.required(nvml.nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo");
  library.required(nvml.nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage");
  library.required(nvml.nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature");
  // "Throttle" until driver 535; the bits are the same.
  if (!library.optional(nvml.nvmlDeviceGetCurrentClocksEventReasons,
                        "nvmlDeviceGetCurrentClocksEventReasons")) {
    library.required(nvml.nvmlDeviceGetCurrentClocksEventReasons,
                     "nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  if (library.missing().empty()) return {};
  return fmt::format("no usable NVML: {} has no {}; update the NVIDIA driver", file,
                     library.missing());
}

std::string start_nvml(const Nvml& nvml) {
  const NvmlResult result = nvml.nvmlInit();
  if (result == kNvmlSuccess) return {};
  return fmt::format("no usable NVML: nvmlInit failed: {}; look at nvidia-smi",
                     nvml.nvmlErrorString(result));
}

const NvmlLookup& find_nvml() {
  static Nvml nvml;
  static const NvmlLookup lookup = [] {
    std::string why_not = open_nvml(kFile, nvml);
    if (why_not.empty()) why_not = start_nvml(nvml);
    return NvmlLookup{.nvml = why_not.empty() ? &nvml : nullptr, .why_not = why_not};
  }();
  return lookup;
}

GpuClocks read_clocks(const Nvml& nvml, const std::string& bus_id) {
  NvmlDevice device = nullptr;
  const NvmlResult found = nvml.nvmlDeviceGetHandleByPciBusId(bus_id.c_str(), &device);
  if (found != kNvmlSuccess) {
    throw Error(fmt::format("nvmlDeviceGetHandleByPciBusId({}) failed: {}; look at nvidia-smi",
                            bus_id, nvml.nvmlErrorString(found)));
  }
  unsigned milliwatts = 0;
  check_told(nvml, nvml.nvmlDeviceGetPowerUsage(device, &milliwatts), "nvmlDeviceGetPowerUsage");
  unsigned celsius = 0;
  check_told(nvml, nvml.nvmlDeviceGetTemperature(device, kNvmlGpuSensor, &celsius),
             "nvmlDeviceGetTemperature");
  unsigned long long reasons = 0;
  check_told(nvml, nvml.nvmlDeviceGetCurrentClocksEventReasons(device, &reasons),
             "nvmlDeviceGetCurrentClocksEventReasons");
  return {.sm_mhz = clock_mhz(nvml, device, kNvmlSmClock),
          .memory_mhz = clock_mhz(nvml, device, kNvmlMemoryClock),
          .watts = milliwatts / 1e3,
          .celsius = static_cast<int>(celsius),
          .throttle_reasons = words_of(reasons)};
}

std::string pci_bus_id(const Device& device) {
  const Context& context = *device.context();
  const Driver& driver = context.driver();
  if (driver.cuDeviceGetPCIBusId == nullptr) {
    throw Error(fmt::format("{} has no cuDeviceGetPCIBusId, so NVML's devices cannot be matched",
                            driver.file));
  }
  char id[32] = {};
  context.check(driver.cuDeviceGetPCIBusId(id, sizeof(id) - 1, context.device()),
                "cuDeviceGetPCIBusId");
  return id;
}

}  // namespace thresher::gpu
