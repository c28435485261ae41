// SPDX-License-Identifier: Apache-2.0
// A CUDA driver made of our own functions: device memory is host memory, copies happen at once,
// launches are written down. It fails where a test tells it to, where a call needs a context that
// its thread has not made current, and where a handle is given back that is not out.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gpu/runtime/driver.hpp"

namespace thresher::gpu::testing {

struct FakeLaunch {
  cuda::LaunchConfig config;
  std::vector<cuda::LaunchAttribute> attributes;
  std::vector<std::string> parameters;  // their bytes, as many as parameter_bytes says
};

// One object at a time; its functions are what `driver` points to.
class FakeDriver {
 public:
  FakeDriver() {
    self_ = this;
    bind();
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver() {
    current_context_ = nullptr;
    self_ = nullptr;
  }

  Driver driver;

  // What a test may set beforehand.
  std::map<std::string, cuda::Result> failures;  // by call
  int device_count = 1;
  std::map<int, std::string> device_names;  // of those that are no "Fake H200"
  std::map<int, int> sm_counts;             // of those that have not 132
  std::size_t memory_bytes_free = 100 << 20;
  std::vector<std::size_t> parameter_bytes;
  std::size_t shared_bytes_max = 232448;
  int shared_carveout = -1;  // as it was last asked for, in percent
  float elapsed_milliseconds = 0.25f;
  bool pageable_access = false;
  const void* unknown_address = nullptr;  // what no driver knows

  // What a test may look at afterwards.
  std::vector<std::string> calls;
  std::vector<FakeLaunch> launches;
  int ptx_modules = 0;  // of those that were loaded
  int bad_returns = 0;  // handles given back twice, or never given out
  std::size_t handles_out() const {
    std::size_t sum = 0;
    for (const auto& [kind, handles] : out_) sum += handles.size();
    return sum;
  }
  long calls_of(const std::string& name) const {
    return std::count(calls.begin(), calls.end(), name);
  }
  static cuda::Context current_context() { return current_context_; }

 private:
  struct FakeGraph {
    std::vector<int> node_types;
  };

  // Notes the call; what it answers if the test wants it to fail, or if it lacks a context.
  static cuda::Result enter(const char* call, bool needs_context) {
    const std::lock_guard lock(self_->mutex_);
    self_->calls.emplace_back(call);
    if (const auto failure = self_->failures.find(call); failure != self_->failures.end()) {
      return failure->second;
    }
    return needs_context && current_context_ == nullptr ? cuda::kInvalidContext : cuda::kSuccess;
  }
  template <typename Handle>
  static Handle give_out(const char* kind) {
    const std::lock_guard lock(self_->mutex_);
    const std::uintptr_t id = ++self_->last_handle_;
    self_->out_[kind].insert(id);
    return reinterpret_cast<Handle>(id);
  }
  template <typename Handle>
  static cuda::Result take_back(const char* kind, Handle handle) {
    const std::lock_guard lock(self_->mutex_);
    auto& handles = self_->out_[kind];
    const auto found = handles.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == handles.end()) {
      ++self_->bad_returns;
      return cuda::kInvalidValue;
    }
    handles.erase(found);
    return cuda::kSuccess;
  }
  static void record_node(cuda::Stream stream, int type) {
    if (self_->captures_.contains(stream)) self_->captures_[stream].node_types.push_back(type);
  }

  void bind() {
    driver.file = "the fake driver";
    bind_device();
    bind_memory();
    bind_streams();
    bind_graphs();
    bind_modules();
  }
  void bind_device();
  void bind_memory();
  void bind_streams();
  void bind_graphs();
  void bind_modules();

  inline static FakeDriver* self_ = nullptr;
  inline static thread_local cuda::Context current_context_ = nullptr;
  std::mutex mutex_;
  std::uintptr_t last_handle_ = 0;
  std::map<std::string, std::multiset<std::uintptr_t>> out_;
  std::map<cuda::DevicePointer, std::unique_ptr<char[]>> memory_;
  std::map<cuda::Stream, cuda::Context> context_of_stream_;
  std::map<cuda::Stream, FakeGraph> captures_;
  std::map<cuda::Graph, FakeGraph> graphs_;
  std::size_t shared_bytes_allowed_ = 48 << 10;
};

inline void FakeDriver::bind_device() {
  driver.cuInit = [](unsigned) { return enter("cuInit", false); };
  driver.cuDriverGetVersion = [](int* version) {
    *version = 13000;
    return enter("cuDriverGetVersion", false);
  };
  driver.cuGetErrorName = [](cuda::Result result, const char** name) {
    *name = result == cuda::kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == cuda::kInvalidValue   ? "CUDA_ERROR_INVALID_VALUE"
            : result == cuda::kNoDevice       ? "CUDA_ERROR_NO_DEVICE"
            : result == cuda::kNotFound       ? "CUDA_ERROR_NOT_FOUND"
            : result == cuda::kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                              : nullptr;
    return *name == nullptr ? cuda::kInvalidValue : cuda::kSuccess;
  };
  driver.cuGetErrorString = [](cuda::Result result, const char** text) {
    *text = result == cuda::kOutOfMemory ? "out of memory" : nullptr;
    return *text == nullptr ? cuda::kInvalidValue : cuda::kSuccess;
  };
  driver.cuDeviceGetCount = [](int* count) {
    *count = self_->device_count;
    return enter("cuDeviceGetCount", false);
  };
  driver.cuDeviceGet = [](cuda::DeviceHandle* device, int index) {
    *device = index;
    return enter("cuDeviceGet", false);
  };
  driver.cuDeviceGetName = [](char* name, int bytes, cuda::DeviceHandle device) {
    const auto found = self_->device_names.find(device);
    const std::string own = found == self_->device_names.end() ? "Fake H200" : found->second;
    std::strncpy(name, own.c_str(), static_cast<std::size_t>(bytes));
    return enter("cuDeviceGetName", false);
  };
  driver.cuDeviceGetAttribute = [](int* value, cuda::DeviceAttribute which,
                                   cuda::DeviceHandle device) {
    const auto sm_count = self_->sm_counts.find(device);
    const std::map<cuda::DeviceAttribute, int> values{
        {cuda::kMaxThreadsPerBlock, 1024},
        {cuda::kClockRateKhz, 1980000},
        {cuda::kMultiprocessorCount, sm_count == self_->sm_counts.end() ? 132 : sm_count->second},
        {cuda::kMemoryClockRateKhz, 3201000},
        {cuda::kMemoryBusBits, 6144},
        {cuda::kL2CacheBytes, 60 << 20},
        {cuda::kComputeCapabilityMajor, 9},
        {cuda::kComputeCapabilityMinor, 0},
        {cuda::kPageableMemoryAccess, self_->pageable_access ? 1 : 0},
        {cuda::kSharedBytesPerMultiprocessor, 233472},
        {cuda::kRegistersPerMultiprocessor, 65536},
        {cuda::kSharedBytesPerBlockOptIn, static_cast<int>(self_->shared_bytes_max)}};
    *value = values.at(which);
    return enter("cuDeviceGetAttribute", false);
  };
  driver.cuDeviceTotalMem = [](std::size_t* bytes, cuda::DeviceHandle) {
    *bytes = std::size_t{143771} << 20;
    return enter("cuDeviceTotalMem", false);
  };
  driver.cuDevicePrimaryCtxRetain = [](cuda::Context* context, cuda::DeviceHandle device) {
    const cuda::Result result = enter("cuDevicePrimaryCtxRetain", false);
    if (result != cuda::kSuccess) return result;
    self_->out_["context"].insert(static_cast<std::uintptr_t>(device));
    *context = reinterpret_cast<cuda::Context>(std::uintptr_t{0xc0} + device);
    return cuda::kSuccess;
  };
  driver.cuDevicePrimaryCtxRelease = [](cuda::DeviceHandle device) {
    enter("cuDevicePrimaryCtxRelease", false);
    return take_back("context", reinterpret_cast<void*>(static_cast<std::uintptr_t>(device)));
  };
  driver.cuCtxSetCurrent = [](cuda::Context context) {
    const cuda::Result result = enter("cuCtxSetCurrent", false);
    if (result == cuda::kSuccess) current_context_ = context;
    return result;
  };
  driver.cuCtxSynchronize = [] { return enter("cuCtxSynchronize", true); };
}

inline void FakeDriver::bind_memory() {
  driver.cuMemGetInfo = [](std::size_t* free_bytes, std::size_t* total_bytes) {
    *free_bytes = self_->memory_bytes_free;
    *total_bytes = std::size_t{143771} << 20;
    return enter("cuMemGetInfo", true);
  };
  driver.cuMemAlloc = [](cuda::DevicePointer* address, std::size_t bytes) {
    const cuda::Result result = enter("cuMemAlloc", true);
    if (result != cuda::kSuccess) return result;
    if (bytes > self_->memory_bytes_free) return cuda::kOutOfMemory;
    auto memory = std::make_unique<char[]>(bytes);
    *address = reinterpret_cast<cuda::DevicePointer>(memory.get());
    self_->out_["memory"].insert(*address);
    self_->memory_[*address] = std::move(memory);
    return cuda::kSuccess;
  };
  driver.cuMemFree = [](cuda::DevicePointer address) {
    const cuda::Result result = enter("cuMemFree", true);
    if (result != cuda::kSuccess) return result;
    self_->memory_.erase(address);
    return take_back("memory", reinterpret_cast<void*>(address));
  };
  driver.cuMemcpyHtoDAsync = [](cuda::DevicePointer to, const void* from, std::size_t bytes,
                                cuda::Stream) {
    const cuda::Result result = enter("cuMemcpyHtoDAsync", true);
    if (result == cuda::kSuccess) std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return result;
  };
  driver.cuMemcpyDtoHAsync = [](void* to, cuda::DevicePointer from, std::size_t bytes,
                                cuda::Stream) {
    const cuda::Result result = enter("cuMemcpyDtoHAsync", true);
    if (result == cuda::kSuccess) std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return result;
  };
  driver.cuMemcpyDtoDAsync = [](cuda::DevicePointer to, cuda::DevicePointer from, std::size_t bytes,
                                cuda::Stream stream) {
    const cuda::Result result = enter("cuMemcpyDtoDAsync", true);
    record_node(stream, 1);
    if (result == cuda::kSuccess) {
      std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    }
    return result;
  };
  driver.cuMemsetD8Async = [](cuda::DevicePointer to, unsigned char value, std::size_t bytes,
                              cuda::Stream) {
    const cuda::Result result = enter("cuMemsetD8Async", true);
    if (result == cuda::kSuccess) std::memset(reinterpret_cast<void*>(to), value, bytes);
    return result;
  };
  driver.cuPointerGetAttribute = [](void* value, cuda::PointerAttribute,
                                    cuda::DevicePointer address) {
    const cuda::Result result = enter("cuPointerGetAttribute", true);
    if (result != cuda::kSuccess) return result;
    if (self_->unknown_address == reinterpret_cast<const void*>(address)) {
      return cuda::kInvalidValue;
    }
    *static_cast<unsigned*>(value) = 2;  // a device's
    return cuda::kSuccess;
  };
  driver.cuIpcGetMemHandle = [](cuda::IpcMemoryHandle* handle, cuda::DevicePointer address) {
    std::memcpy(handle->bytes, &address, sizeof(address));
    return enter("cuIpcGetMemHandle", true);
  };
  driver.cuIpcOpenMemHandle = [](cuda::DevicePointer* address, cuda::IpcMemoryHandle handle,
                                 unsigned) {
    const cuda::Result result = enter("cuIpcOpenMemHandle", true);
    if (result != cuda::kSuccess) return result;
    std::memcpy(address, handle.bytes, sizeof(*address));
    self_->out_["mapping"].insert(*address);
    return cuda::kSuccess;
  };
  driver.cuIpcCloseMemHandle = [](cuda::DevicePointer address) {
    enter("cuIpcCloseMemHandle", true);
    return take_back("mapping", reinterpret_cast<void*>(address));
  };
}

inline void FakeDriver::bind_streams() {
  driver.cuStreamCreate = [](cuda::Stream* stream, unsigned) {
    const cuda::Result result = enter("cuStreamCreate", true);
    if (result == cuda::kSuccess) {
      *stream = give_out<cuda::Stream>("stream");
      self_->context_of_stream_[*stream] = current_context_;
    }
    return result;
  };
  driver.cuStreamGetCtx = [](cuda::Stream stream, cuda::Context* context) {
    *context = self_->context_of_stream_[stream];
    return enter("cuStreamGetCtx", false);
  };
  driver.cuStreamDestroy = [](cuda::Stream stream) {
    enter("cuStreamDestroy", true);
    return take_back("stream", stream);
  };
  driver.cuStreamSynchronize = [](cuda::Stream) { return enter("cuStreamSynchronize", true); };
  driver.cuStreamWaitEvent = [](cuda::Stream, cuda::Event, unsigned) {
    return enter("cuStreamWaitEvent", true);
  };
  driver.cuEventCreate = [](cuda::Event* event, unsigned) {
    const cuda::Result result = enter("cuEventCreate", true);
    if (result == cuda::kSuccess) *event = give_out<cuda::Event>("event");
    return result;
  };
  driver.cuEventDestroy = [](cuda::Event event) {
    enter("cuEventDestroy", true);
    return take_back("event", event);
  };
  driver.cuEventRecord = [](cuda::Event, cuda::Stream) { return enter("cuEventRecord", true); };
  driver.cuEventQuery = [](cuda::Event) { return enter("cuEventQuery", true); };
  driver.cuEventSynchronize = [](cuda::Event) { return enter("cuEventSynchronize", true); };
  driver.cuEventElapsedTime = [](float* milliseconds, cuda::Event, cuda::Event) {
    *milliseconds = self_->elapsed_milliseconds;
    return enter("cuEventElapsedTime", true);
  };
}

inline void FakeDriver::bind_graphs() {
  driver.cuStreamBeginCapture = [](cuda::Stream stream, int) {
    const cuda::Result result = enter("cuStreamBeginCapture", true);
    if (result == cuda::kSuccess) self_->captures_[stream] = {};
    return result;
  };
  driver.cuStreamEndCapture = [](cuda::Stream stream, cuda::Graph* graph) {
    const cuda::Result result = enter("cuStreamEndCapture", true);
    const auto capture = self_->captures_.extract(stream);
    if (result != cuda::kSuccess) return result;
    *graph = give_out<cuda::Graph>("graph");
    self_->graphs_[*graph] = capture.mapped();
    return cuda::kSuccess;
  };
  driver.cuStreamIsCapturing = [](cuda::Stream stream, int* status) {
    const cuda::Result result = enter("cuStreamIsCapturing", true);
    *status = self_->captures_.contains(stream) ? 1 : 0;
    return result;
  };
  driver.cuGraphGetNodes = [](cuda::Graph graph, cuda::GraphNode* nodes, std::size_t* count) {
    std::vector<int>& types = self_->graphs_[graph].node_types;
    if (nodes == nullptr) *count = types.size();
    for (std::size_t i = 0; nodes != nullptr && i < *count; ++i) {
      nodes[i] = reinterpret_cast<cuda::GraphNode>(&types[i]);
    }
    return enter("cuGraphGetNodes", true);
  };
  driver.cuGraphNodeGetType = [](cuda::GraphNode node, int* type) {
    *type = *reinterpret_cast<const int*>(node);
    return enter("cuGraphNodeGetType", true);
  };
  driver.cuGraphDestroy = [](cuda::Graph graph) {
    enter("cuGraphDestroy", true);
    return take_back("graph", graph);
  };
  driver.cuGraphInstantiate = [](cuda::GraphExec* exec, cuda::Graph, unsigned long long) {
    const cuda::Result result = enter("cuGraphInstantiate", true);
    if (result == cuda::kSuccess) *exec = give_out<cuda::GraphExec>("exec");
    return result;
  };
  driver.cuGraphUpload = [](cuda::GraphExec, cuda::Stream) { return enter("cuGraphUpload", true); };
  driver.cuGraphLaunch = [](cuda::GraphExec, cuda::Stream) { return enter("cuGraphLaunch", true); };
  driver.cuGraphExecDestroy = [](cuda::GraphExec exec) {
    enter("cuGraphExecDestroy", true);
    return take_back("exec", exec);
  };
}

inline void FakeDriver::bind_modules() {
  driver.cuModuleLoadData = [](cuda::Module* module, const void* image) {
    const cuda::Result result = enter("cuModuleLoadData", true);
    if (std::strncmp(static_cast<const char*>(image), "PTX ", 4) == 0) ++self_->ptx_modules;
    if (result == cuda::kSuccess) *module = give_out<cuda::Module>("module");
    return result;
  };
  driver.cuModuleUnload = [](cuda::Module module) {
    enter("cuModuleUnload", true);
    return take_back("module", module);
  };
  driver.cuModuleGetFunction = [](cuda::Function* function, cuda::Module, const char* name) {
    *function = reinterpret_cast<cuda::Function>(std::uintptr_t{0xf0});
    const cuda::Result result = enter("cuModuleGetFunction", true);
    return std::string_view(name) == "absent" ? cuda::kNotFound : result;
  };
  driver.cuFuncGetAttribute = [](int* value, cuda::FunctionAttribute which, cuda::Function) {
    const std::map<cuda::FunctionAttribute, int> values{
        {cuda::kFunctionMaxThreadsPerBlock, 384},
        {cuda::kFunctionSharedBytes, 1024},
        {cuda::kFunctionLocalBytes, 16},
        {cuda::kFunctionRegisters, 168},
        {cuda::kFunctionMaxDynamicSharedBytes, static_cast<int>(self_->shared_bytes_allowed_)}};
    *value = values.at(which);
    return enter("cuFuncGetAttribute", true);
  };
  driver.cuFuncSetAttribute = [](cuda::Function, cuda::FunctionAttribute which, int value) {
    const cuda::Result result = enter("cuFuncSetAttribute", true);
    if (result != cuda::kSuccess) return result;
    if (which == cuda::kFunctionPreferredSharedCarveout) {
      self_->shared_carveout = value;
      return cuda::kSuccess;
    }
    if (static_cast<std::size_t>(value) + 1024 > self_->shared_bytes_max) {
      return cuda::kInvalidValue;
    }
    self_->shared_bytes_allowed_ = static_cast<std::size_t>(value);
    return cuda::kSuccess;
  };
  driver.cuFuncGetParamInfo = [](cuda::Function, std::size_t index, std::size_t* offset,
                                 std::size_t* bytes) {
    const cuda::Result result = enter("cuFuncGetParamInfo", true);
    if (result != cuda::kSuccess) return result;
    if (index >= self_->parameter_bytes.size()) return cuda::kInvalidValue;
    *offset = 0;
    *bytes = self_->parameter_bytes[index];
    return cuda::kSuccess;
  };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* count, cuda::Function, int block,
                                                          std::size_t) {
    *count = 1536 / block;
    return enter("cuOccupancyMaxActiveBlocksPerMultiprocessor", true);
  };
  driver.cuLaunchKernelEx = [](const cuda::LaunchConfig* config, cuda::Function, void** parameters,
                               void**) {
    const cuda::Result result = enter("cuLaunchKernelEx", true);
    if (result != cuda::kSuccess) return result;
    if (config->stream != nullptr &&
        self_->context_of_stream_[config->stream] != current_context_) {
      return cuda::kInvalidHandle;
    }
    if (config->grid_x == 0 || config->block_x > 384) return cuda::kInvalidValue;
    if (config->shared_bytes > self_->shared_bytes_allowed_) return cuda::kInvalidValue;
    record_node(config->stream, cuda::kGraphNodeKernel);
    FakeLaunch launch{*config, {}, {}};
    launch.attributes.assign(config->attributes, config->attributes + config->attribute_count);
    for (std::size_t i = 0; i < self_->parameter_bytes.size(); ++i) {
      launch.parameters.emplace_back(static_cast<const char*>(parameters[i]),
                                     self_->parameter_bytes[i]);
    }
    self_->launches.push_back(launch);
    return cuda::kSuccess;
  };
}

}  // namespace thresher::gpu::testing
