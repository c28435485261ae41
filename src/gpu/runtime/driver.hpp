// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, opened at run time: a plain struct of its functions, or a sentence saying why
// there is none.
//
// Members are called as NVIDIA calls the functions, so that its documentation explains them; which
// version of a symbol is bound stands in driver.cpp. Everything else here takes a Driver by
// reference, so a test can hand in one made of its own functions.
#pragma once

#include <cstddef>
#include <string>

#include "gpu/runtime/cuda_abi.hpp"

namespace thresher::gpu {

struct Driver {
  std::string file;  // what was opened, for messages

  cuda::Result (*cuInit)(unsigned flags) = nullptr;
  cuda::Result (*cuDriverGetVersion)(int* version) = nullptr;
  cuda::Result (*cuGetErrorName)(cuda::Result, const char** name) = nullptr;
  cuda::Result (*cuGetErrorString)(cuda::Result, const char** text) = nullptr;

  cuda::Result (*cuDeviceGetCount)(int* count) = nullptr;
  cuda::Result (*cuDeviceGet)(cuda::DeviceHandle*, int index) = nullptr;
  cuda::Result (*cuDeviceGetName)(char* name, int bytes, cuda::DeviceHandle) = nullptr;
  cuda::Result (*cuDeviceGetAttribute)(int* value, cuda::DeviceAttribute,
                                       cuda::DeviceHandle) = nullptr;
  cuda::Result (*cuDeviceTotalMem)(std::size_t* bytes, cuda::DeviceHandle) = nullptr;
  // Null where nobody can tell.
  cuda::Result (*cuDeviceGetPCIBusId)(char* id, int bytes, cuda::DeviceHandle) = nullptr;
  cuda::Result (*cuDevicePrimaryCtxRetain)(cuda::Context*, cuda::DeviceHandle) = nullptr;
  cuda::Result (*cuDevicePrimaryCtxRelease)(cuda::DeviceHandle) = nullptr;
  cuda::Result (*cuCtxSetCurrent)(cuda::Context) = nullptr;
  cuda::Result (*cuCtxSynchronize)() = nullptr;

  cuda::Result (*cuMemGetInfo)(std::size_t* free_bytes, std::size_t* total_bytes) = nullptr;
  cuda::Result (*cuMemAlloc)(cuda::DevicePointer*, std::size_t bytes) = nullptr;
  cuda::Result (*cuMemFree)(cuda::DevicePointer) = nullptr;
  cuda::Result (*cuMemcpyHtoDAsync)(cuda::DevicePointer, const void*, std::size_t bytes,
                                    cuda::Stream) = nullptr;
  cuda::Result (*cuMemcpyDtoHAsync)(void*, cuda::DevicePointer, std::size_t bytes,
                                    cuda::Stream) = nullptr;
  cuda::Result (*cuMemcpyDtoDAsync)(cuda::DevicePointer, cuda::DevicePointer, std::size_t bytes,
                                    cuda::Stream) = nullptr;
  cuda::Result (*cuMemsetD8Async)(cuda::DevicePointer, unsigned char, std::size_t count,
                                  cuda::Stream) = nullptr;
  cuda::Result (*cuPointerGetAttribute)(void* value, cuda::PointerAttribute,
                                        cuda::DevicePointer) = nullptr;  // may be absent
  cuda::Result (*cuIpcGetMemHandle)(cuda::IpcMemoryHandle*, cuda::DevicePointer) = nullptr;
  cuda::Result (*cuIpcOpenMemHandle)(cuda::DevicePointer*, cuda::IpcMemoryHandle,
                                     unsigned flags) = nullptr;
  cuda::Result (*cuIpcCloseMemHandle)(cuda::DevicePointer) = nullptr;

  // Packs what it is told of a matrix into 128 bytes; a function of the host. Null: an old driver.
  cuda::Result (*cuTensorMapEncodeTiled)(void* map, unsigned type, unsigned rank, void* address,
                                         const unsigned long long* extents,
                                         const unsigned long long* stride_bytes,
                                         const unsigned* box, const unsigned* steps,
                                         unsigned interleave, unsigned swizzle, unsigned promotion,
                                         unsigned fill) = nullptr;

  cuda::Result (*cuStreamCreate)(cuda::Stream*, unsigned flags) = nullptr;
  cuda::Result (*cuStreamDestroy)(cuda::Stream) = nullptr;
  cuda::Result (*cuStreamSynchronize)(cuda::Stream) = nullptr;
  cuda::Result (*cuStreamGetCtx)(cuda::Stream, cuda::Context*) = nullptr;  // may be absent
  cuda::Result (*cuStreamWaitEvent)(cuda::Stream, cuda::Event, unsigned flags) = nullptr;
  cuda::Result (*cuEventCreate)(cuda::Event*, unsigned flags) = nullptr;
  cuda::Result (*cuEventDestroy)(cuda::Event) = nullptr;
  cuda::Result (*cuEventRecord)(cuda::Event, cuda::Stream) = nullptr;
  cuda::Result (*cuEventQuery)(cuda::Event) = nullptr;
  cuda::Result (*cuEventSynchronize)(cuda::Event) = nullptr;
  cuda::Result (*cuEventElapsedTime)(float* milliseconds, cuda::Event start,
                                     cuda::Event end) = nullptr;

  cuda::Result (*cuStreamBeginCapture)(cuda::Stream, int mode) = nullptr;
  cuda::Result (*cuStreamEndCapture)(cuda::Stream, cuda::Graph*) = nullptr;
  cuda::Result (*cuStreamIsCapturing)(cuda::Stream, int* status) = nullptr;
  cuda::Result (*cuGraphGetNodes)(cuda::Graph, cuda::GraphNode*, std::size_t* count) = nullptr;
  cuda::Result (*cuGraphNodeGetType)(cuda::GraphNode, int* type) = nullptr;
  cuda::Result (*cuGraphDestroy)(cuda::Graph) = nullptr;
  cuda::Result (*cuGraphInstantiate)(cuda::GraphExec*, cuda::Graph,
                                     unsigned long long flags) = nullptr;
  cuda::Result (*cuGraphUpload)(cuda::GraphExec, cuda::Stream) = nullptr;
  cuda::Result (*cuGraphLaunch)(cuda::GraphExec, cuda::Stream) = nullptr;
  cuda::Result (*cuGraphExecDestroy)(cuda::GraphExec) = nullptr;

  cuda::Result (*cuModuleLoadData)(cuda::Module*, const void* image) = nullptr;
  cuda::Result (*cuModuleUnload)(cuda::Module) = nullptr;
  cuda::Result (*cuModuleGetFunction)(cuda::Function*, cuda::Module, const char* name) = nullptr;
  cuda::Result (*cuFuncGetAttribute)(int* value, cuda::FunctionAttribute, cuda::Function) = nullptr;
  cuda::Result (*cuFuncSetAttribute)(cuda::Function, cuda::FunctionAttribute, int value) = nullptr;
  // Since CUDA 12.4; null in older drivers.
  cuda::Result (*cuFuncGetParamInfo)(cuda::Function, std::size_t index, std::size_t* offset,
                                     std::size_t* bytes) = nullptr;
  cuda::Result (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int* count, cuda::Function, int block,
                                                              std::size_t shared_bytes) = nullptr;
  cuda::Result (*cuLaunchKernelEx)(const cuda::LaunchConfig*, cuda::Function, void** parameters,
                                   void** extra) = nullptr;
};

// A driver ready for use (initialised, at least one device), or why not, in one sentence that also
// says what to do.
struct DriverLookup {
  const Driver* driver = nullptr;
  std::string why_not;
};

// libcuda.so.1, opened and initialised by the first call and kept for the life of the process. A
// process forked after that call has no working driver: fork first.
const DriverLookup& find_driver();

// Binds `driver` to the functions of a shared library. Returns why not, or nothing.
std::string open_driver(const char* file, Driver& driver);

// Initialises `driver` and looks for a device. Returns why not, or nothing.
std::string start_driver(const Driver& driver);

// 13000 is CUDA 13.0: the newest CUDA this driver runs. 0 if it does not say.
int driver_version(const Driver& driver);
std::string cuda_version_text(int version);  // "13.0"

}  // namespace thresher::gpu
