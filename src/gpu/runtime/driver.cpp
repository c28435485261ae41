// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/driver.hpp"

#include <fmt/format.h>

#include "gpu/runtime/driver_error.hpp"
#include "gpu/runtime/library.hpp"

namespace thresher::gpu {
namespace {

constexpr const char* kDriverFile = "libcuda.so.1";
constexpr const char* kNotFound = "cannot open shared object file: No such file or directory";

void bind_device(Library& library, Driver& driver) {
  library.required(driver.cuInit, "cuInit");
  library.required(driver.cuDriverGetVersion, "cuDriverGetVersion");
  library.required(driver.cuGetErrorName, "cuGetErrorName");
  library.required(driver.cuGetErrorString, "cuGetErrorString");
  library.required(driver.cuDeviceGetCount, "cuDeviceGetCount");
  library.required(driver.cuDeviceGet, "cuDeviceGet");
  library.required(driver.cuDeviceGetName, "cuDeviceGetName");
  library.required(driver.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  library.required(driver.cuDeviceTotalMem, "cuDeviceTotalMem_v2");
  library.optional(driver.cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  library.required(driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  library.required(driver.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  library.required(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
  library.required(driver.cuCtxSynchronize, "cuCtxSynchronize");
}

void bind_memory(Library& library, Driver& driver) {
  library.required(driver.cuMemGetInfo, "cuMemGetInfo_v2");
  library.required(driver.cuMemAlloc, "cuMemAlloc_v2");
  library.required(driver.cuMemFree, "cuMemFree_v2");
  library.required(driver.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  library.required(driver.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  library.required(driver.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  library.required(driver.cuMemsetD8Async, "cuMemsetD8Async");
  library.optional(driver.cuPointerGetAttribute, "cuPointerGetAttribute");
  library.required(driver.cuIpcGetMemHandle, "cuIpcGetMemHandle");
  library.required(driver.cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2");
  library.required(driver.cuIpcCloseMemHandle, "cuIpcCloseMemHandle");
  library.optional(driver.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled");
}

void bind_streams(Library& library, Driver& driver) {
  library.required(driver.cuStreamCreate, "cuStreamCreate");
  library.required(driver.cuStreamDestroy, "cuStreamDestroy_v2");
  library.required(driver.cuStreamSynchronize, "cuStreamSynchronize");
  library.optional(driver.cuStreamGetCtx, "cuStreamGetCtx");
  library.required(driver.cuStreamWaitEvent, "cuStreamWaitEvent");
  library.required(driver.cuEventCreate, "cuEventCreate");
  library.required(driver.cuEventDestroy, "cuEventDestroy_v2");
  library.required(driver.cuEventRecord, "cuEventRecord");
  library.required(driver.cuEventQuery, "cuEventQuery");
  library.required(driver.cuEventSynchronize, "cuEventSynchronize");
  // CUDA 13 renamed it; the arguments are the same.
  if (!library.optional(driver.cuEventElapsedTime, "cuEventElapsedTime_v2")) {
    library.required(driver.cuEventElapsedTime, "cuEventElapsedTime");
  }
  library.required(driver.cuStreamBeginCapture, "cuStreamBeginCapture_v2");
  library.required(driver.cuStreamEndCapture, "cuStreamEndCapture");
  library.required(driver.cuStreamIsCapturing, "cuStreamIsCapturing");
  library.required(driver.cuGraphGetNodes, "cuGraphGetNodes");
  library.required(driver.cuGraphNodeGetType, "cuGraphNodeGetType");
  library.required(driver.cuGraphDestroy, "cuGraphDestroy");
  library.required(driver.cuGraphInstantiate, "cuGraphInstantiateWithFlags");
  library.required(driver.cuGraphUpload, "cuGraphUpload");
  library.required(driver.cuGraphLaunch, "cuGraphLaunch");
  library.required(driver.cuGraphExecDestroy, "cuGraphExecDestroy");
}

void bind_modules(Library& library, Driver& driver) {
  library.required(driver.cuModuleLoadData, "cuModuleLoadData");
  library.required(driver.cuModuleUnload, "cuModuleUnload");
  library.required(driver.cuModuleGetFunction, "cuModuleGetFunction");
  library.required(driver.cuFuncGetAttribute, "cuFuncGetAttribute");
  library.required(driver.cuFuncSetAttribute, "cuFuncSetAttribute");
  library.optional(driver.cuFuncGetParamInfo, "cuFuncGetParamInfo");
  library.required(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor,
                   "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  library.required(driver.cuLaunchKernelEx, "cuLaunchKernelEx");
}

std::string why_not_open(const char* file, const std::string& loader_message) {
  if (loader_message == fmt::format("{}: {}", file, kNotFound)) {
    return fmt::format(
        "no NVIDIA driver: {} not found; install the driver, or use the CPU backend, which needs "
        "none",
        file);
  }
  return fmt::format("the NVIDIA driver does not open: {}", loader_message);
}

}  // namespace

std::string open_driver(const char* file, Driver& driver) {
  Library library(file);
  if (!library.is_open()) return why_not_open(file, library.why_not());
  driver.file = file;
  bind_device(library, driver);
  bind_memory(library, driver);
  bind_streams(library, driver);
  bind_modules(library, driver);
  if (library.missing().empty()) return {};
  return fmt::format(
      "the NVIDIA driver is too old: {} has no {}; install a driver for CUDA 12.0 or newer", file,
      library.missing());
}

std::string start_driver(const Driver& driver) {
  const auto why_not = [&](const char* call, cuda::Result result) {
    if (result == cuda::kNoDevice) {
      return fmt::format(
          "an NVIDIA driver, but no GPU: {} says {}; look at nvidia-smi, and at "
          "CUDA_VISIBLE_DEVICES if it is set",
          call, result_text(driver, result));
    }
    return driver_error_text(driver, result, call);
  };
  if (const cuda::Result result = driver.cuInit(0); result != cuda::kSuccess) {
    return why_not("cuInit", result);
  }
  int count = 0;
  const cuda::Result result = driver.cuDeviceGetCount(&count);
  if (result != cuda::kSuccess) return why_not("cuDeviceGetCount", result);
  if (count == 0) return why_not("cuDeviceGetCount", cuda::kNoDevice);
  return {};
}

const DriverLookup& find_driver() {
  static Driver driver;
  static const DriverLookup lookup = [] {
    std::string why_not = open_driver(kDriverFile, driver);
    if (why_not.empty()) why_not = start_driver(driver);
    return DriverLookup{.driver = why_not.empty() ? &driver : nullptr, .why_not = why_not};
  }();
  return lookup;
}

int driver_version(const Driver& driver) {
  int version = 0;
  return driver.cuDriverGetVersion(&version) == cuda::kSuccess ? version : 0;
}

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace thresher::gpu
