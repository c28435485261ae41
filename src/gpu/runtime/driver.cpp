// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "gpu/runtime/driver_error.hpp"

namespace thresher::gpu {
namespace {

constexpr const char* kDriverFile = "libcuda.so.1";
constexpr const char* kNotFound = "cannot open shared object file: No such file or directory";

// Binds members to symbols and remembers the first one that is not there.
class Binder {
 public:
  explicit Binder(void* library) : library_(library) {}

  template <typename Function>
  bool optional(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    return function != nullptr;
  }
  template <typename Function>
  void required(Function& function, const char* symbol) {
    if (!optional(function, symbol) && missing_.empty()) missing_ = symbol;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

void bind_device(Binder& bind, Driver& driver) {
  bind.required(driver.cuInit, "cuInit");
  bind.required(driver.cuDriverGetVersion, "cuDriverGetVersion");
  bind.required(driver.cuGetErrorName, "cuGetErrorName");
  bind.required(driver.cuGetErrorString, "cuGetErrorString");
  bind.required(driver.cuDeviceGetCount, "cuDeviceGetCount");
  bind.required(driver.cuDeviceGet, "cuDeviceGet");
  bind.required(driver.cuDeviceGetName, "cuDeviceGetName");
  bind.required(driver.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  bind.required(driver.cuDeviceTotalMem, "cuDeviceTotalMem_v2");
  bind.optional(driver.cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  bind.required(driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  bind.required(driver.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  bind.required(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
  bind.required(driver.cuCtxSynchronize, "cuCtxSynchronize");
}

void bind_memory(Binder& bind, Driver& driver) {
  bind.required(driver.cuMemGetInfo, "cuMemGetInfo_v2");
  bind.required(driver.cuMemAlloc, "cuMemAlloc_v2");
  bind.required(driver.cuMemFree, "cuMemFree_v2");
  bind.required(driver.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  bind.required(driver.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  bind.required(driver.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  bind.required(driver.cuMemsetD8Async, "cuMemsetD8Async");
  bind.required(driver.cuIpcGetMemHandle, "cuIpcGetMemHandle");
  bind.required(driver.cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2");
  bind.required(driver.cuIpcCloseMemHandle, "cuIpcCloseMemHandle");
}

void bind_streams(Binder& bind, Driver& driver) {
  bind.required(driver.cuStreamCreate, "cuStreamCreate");
  bind.required(driver.cuStreamDestroy, "cuStreamDestroy_v2");
  bind.required(driver.cuStreamSynchronize, "cuStreamSynchronize");
  bind.optional(driver.cuStreamGetCtx, "cuStreamGetCtx");
  bind.required(driver.cuStreamWaitEvent, "cuStreamWaitEvent");
  bind.required(driver.cuEventCreate, "cuEventCreate");
  bind.required(driver.cuEventDestroy, "cuEventDestroy_v2");
  bind.required(driver.cuEventRecord, "cuEventRecord");
  bind.required(driver.cuEventQuery, "cuEventQuery");
  bind.required(driver.cuEventSynchronize, "cuEventSynchronize");
  // CUDA 13 renamed it; the arguments are the same.
  if (!bind.optional(driver.cuEventElapsedTime, "cuEventElapsedTime_v2")) {
    bind.required(driver.cuEventElapsedTime, "cuEventElapsedTime");
  }
  bind.required(driver.cuStreamBeginCapture, "cuStreamBeginCapture_v2");
  bind.required(driver.cuStreamEndCapture, "cuStreamEndCapture");
  bind.required(driver.cuStreamIsCapturing, "cuStreamIsCapturing");
  bind.required(driver.cuGraphGetNodes, "cuGraphGetNodes");
  bind.required(driver.cuGraphNodeGetType, "cuGraphNodeGetType");
  bind.required(driver.cuGraphDestroy, "cuGraphDestroy");
  bind.required(driver.cuGraphInstantiate, "cuGraphInstantiateWithFlags");
  bind.required(driver.cuGraphUpload, "cuGraphUpload");
  bind.required(driver.cuGraphLaunch, "cuGraphLaunch");
  bind.required(driver.cuGraphExecDestroy, "cuGraphExecDestroy");
}

void bind_modules(Binder& bind, Driver& driver) {
  bind.required(driver.cuModuleLoadData, "cuModuleLoadData");
  bind.required(driver.cuModuleUnload, "cuModuleUnload");
  bind.required(driver.cuModuleGetFunction, "cuModuleGetFunction");
  bind.required(driver.cuFuncGetAttribute, "cuFuncGetAttribute");
  bind.required(driver.cuFuncSetAttribute, "cuFuncSetAttribute");
  bind.optional(driver.cuFuncGetParamInfo, "cuFuncGetParamInfo");
  bind.required(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor,
                "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  bind.required(driver.cuLaunchKernelEx, "cuLaunchKernelEx");
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
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* message = dlerror();
    return why_not_open(file, message != nullptr ? message : "the loader does not say why");
  }
  driver.file = file;
  Binder bind(library);
  bind_device(bind, driver);
  bind_memory(bind, driver);
  bind_streams(bind, driver);
  bind_modules(bind, driver);
  if (bind.missing().empty()) return {};
  return fmt::format(
      "the NVIDIA driver is too old: {} has no {}; install a driver for CUDA 12.0 or newer", file,
      bind.missing());
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
