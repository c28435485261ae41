// SPDX-License-Identifier: Apache-2.0
// NVML, the library behind nvidia-smi, opened at run time: what a GPU's clocks do just now, and
// what holds them back. A plain struct of its functions, or a sentence saying why there is none.
#pragma once

#include <string>
#include <vector>

#include "gpu/runtime/device.hpp"

namespace thresher::gpu {

using NvmlResult = int;
using NvmlDevice = struct NvmlDeviceObject*;
inline constexpr NvmlResult kNvmlSuccess = 0;
inline constexpr NvmlResult kNvmlNotSupported = 3;

enum NvmlClock : int { kNvmlSmClock = 1, kNvmlMemoryClock = 2 };
enum NvmlSensor : int { kNvmlGpuSensor = 0 };

// Members are called as NVIDIA calls the functions; which version of a symbol is bound stands in
// nvml.cpp.
struct Nvml {
  std::string file;

  NvmlResult (*nvmlInit)() = nullptr;
  const char* (*nvmlErrorString)(NvmlResult) = nullptr;
  NvmlResult (*nvmlDeviceGetHandleByPciBusId)(const char* id, NvmlDevice*) = nullptr;
  NvmlResult (*nvmlDeviceGetClockInfo)(NvmlDevice, NvmlClock, unsigned* mhz) = nullptr;
  NvmlResult (*nvmlDeviceGetPowerUsage)(NvmlDevice, unsigned* milliwatts) = nullptr;
  NvmlResult (*nvmlDeviceGetTemperature)(NvmlDevice, NvmlSensor, unsigned* celsius) = nullptr;
  NvmlResult (*nvmlDeviceGetCurrentClocksEventReasons)(NvmlDevice,
                                                       unsigned long long* bits) = nullptr;
};

struct NvmlLookup {
  const Nvml* nvml = nullptr;
  std::string why_not;  // one sentence that also says what to do
};

// libnvidia-ml.so.1, opened and initialised by the first call and kept for the life of the process.
const NvmlLookup& find_nvml();

// Binds `nvml` to the functions of a shared library. Returns why not, or nothing.
std::string open_nvml(const char* file, Nvml& nvml);
// Initialises it. Returns why not, or nothing.
std::string start_nvml(const Nvml& nvml);

// What the GPU does at this moment. A number that this GPU does not tell is 0.
struct GpuClocks {
  int sm_mhz = 0;
  int memory_mhz = 0;
  double watts = 0;
  int celsius = 0;
  // Why the clocks are not at their highest, as words: "power cap", "idle".
  std::vector<std::string> throttle_reasons;
};

// `bus_id` as pci_bus_id tells it. Throws Error if NVML does not know the device.
GpuClocks read_clocks(const Nvml& nvml, const std::string& bus_id);

// "0000:1B:00.0". Throws Error if the driver does not tell it.
std::string pci_bus_id(const Device& device);

}  // namespace thresher::gpu
