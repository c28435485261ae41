// SPDX-License-Identifier: Apache-2.0
// The binary interface of the CUDA driver, as far as we use it: handles, structs and numbers.
//
// Declared here rather than included, so that a machine without CUDA can build the binary that a
// machine with CUDA runs. NVIDIA keeps these stable: a changed call gets a new symbol name.
#pragma once

#include <cstddef>

namespace thresher::gpu::cuda {

using DeviceHandle = int;
using DevicePointer = unsigned long long;
using Context = struct ContextObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Graph = struct GraphObject*;
using GraphNode = struct GraphNodeObject*;
using GraphExec = struct GraphExecObject*;

// The results that somebody here treats in a way of its own.
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kDeinitialized = 4;
inline constexpr Result kStubLibrary = 34;
inline constexpr Result kDeviceUnavailable = 46;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidDevice = 101;
inline constexpr Result kInvalidImage = 200;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kNoBinaryForGpu = 209;
inline constexpr Result kUnsupportedPtxVersion = 222;
inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kIllegalAddress = 700;
inline constexpr Result kLaunchOutOfResources = 701;
inline constexpr Result kLaunchTimeout = 702;
inline constexpr Result kAssert = 710;
inline constexpr Result kHardwareStackError = 714;
inline constexpr Result kIllegalInstruction = 715;
inline constexpr Result kMisalignedAddress = 716;
inline constexpr Result kInvalidProgramCounter = 718;
inline constexpr Result kLaunchFailed = 719;
inline constexpr Result kNotSupported = 801;
inline constexpr Result kSystemNotReady = 802;
inline constexpr Result kSystemDriverMismatch = 803;
inline constexpr Result kCompatNotSupported = 804;
inline constexpr Result kStreamCaptureFirst = 900;  // every error of a capture lies between these
inline constexpr Result kStreamCaptureLast = 908;
inline constexpr Result kUnknown = 999;

// What may be asked of a device.
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kClockRateKhz = 13,
  kMultiprocessorCount = 16,
  kMemoryClockRateKhz = 36,
  kMemoryBusBits = 37,
  kL2CacheBytes = 38,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kSharedBytesPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kPageableMemoryAccess = 88,
  kSharedBytesPerBlockOptIn = 97,
};

// What may be asked of an address.
enum PointerAttribute : int { kPointerMemoryType = 2 };

// What may be asked of a kernel, and set.
enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedBytes = 1,  // static
  kFunctionLocalBytes = 3,   // per thread: stack and spilled registers
  kFunctionRegisters = 4,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionPreferredSharedCarveout = 9,  // percent of an SM's shared memory
};

enum LaunchAttributeId : int { kClusterDimension = 4, kProgrammaticStreamSerialization = 6 };

struct LaunchAttribute {
  LaunchAttributeId id;
  int pad;
  union alignas(8) {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int allowed;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

struct IpcMemoryHandle {
  char bytes[64];
};

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
// Other threads may allocate and synchronise while one thread captures.
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kGraphNodeKernel = 0;
inline constexpr unsigned kIpcLazyEnablePeerAccess = 1;

}  // namespace thresher::gpu::cuda
