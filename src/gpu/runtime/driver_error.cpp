// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/driver_error.hpp"

#include <fmt/format.h>

namespace thresher::gpu {
namespace {

constexpr std::string_view kLostContext =
    "an earlier kernel did this and the device context is lost, so end the process; "
    "compute-sanitizer names the kernel and the line";

std::string_view known_advice(cuda::Result result) {
  if (is_sticky(result)) return kLostContext;
  if (result >= cuda::kStreamCaptureFirst && result <= cuda::kStreamCaptureLast) {
    return "a capture takes launches, copies, fills and events on its own streams only: allocate "
           "and synchronise before it, and join every forked stream again";
  }
  switch (result) {
    case cuda::kOutOfMemory:
      return "free device memory, or choose a smaller problem";
    case cuda::kNotInitialized:
      return "CUDA does not follow a fork(): use the GPU in the process that opened it, or start "
             "the other without fork (Python: multiprocessing's \"spawn\")";
    case cuda::kStubLibrary:
      return "this libcuda is the toolkit's stub and no driver: take the folder \"stubs\" off the "
             "library path";
    case cuda::kDeviceUnavailable:
      return "another process holds the GPU exclusively; nvidia-smi shows who";
    case cuda::kInvalidDevice:
      return "nvidia-smi lists the devices there are";
    case cuda::kInvalidImage:
    case cuda::kNoBinaryForGpu:
      return "the kernel was compiled for another architecture, or by a compiler newer than this "
             "driver";
    case cuda::kUnsupportedPtxVersion:
      return "the compiler is newer than the driver: update the driver or use an older libnvrtc";
    case cuda::kSystemNotReady:
      return "the driver is still starting (on machines with NVSwitch, see that "
             "nvidia-fabricmanager runs)";
    case cuda::kSystemDriverMismatch:
      return "libcuda and the kernel module are of different versions: reboot, or reinstall the "
             "driver";
    case cuda::kCompatNotSupported:
      return "this GPU does not run with the CUDA compatibility package: remove it from the "
             "library path";
    case cuda::kUnknown:
      return "dmesg may say more; on a fresh start, see that the kernel modules nvidia and "
             "nvidia_uvm are loaded";
    default:
      return {};
  }
}

}  // namespace

std::string result_text(const Driver& driver, cuda::Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName(result, &name) != cuda::kSuccess) name = nullptr;
  if (driver.cuGetErrorString(result, &text) != cuda::kSuccess) text = nullptr;
  if (name == nullptr) return fmt::format("CUDA result {}", result);
  return text == nullptr ? std::string(name) : fmt::format("{} ({})", name, text);
}

bool is_sticky(cuda::Result result) {
  switch (result) {
    case cuda::kIllegalAddress:
    case cuda::kLaunchTimeout:
    case cuda::kAssert:
    case cuda::kHardwareStackError:
    case cuda::kIllegalInstruction:
    case cuda::kMisalignedAddress:
    case cuda::kInvalidProgramCounter:
    case cuda::kLaunchFailed:
      return true;
    default:
      return false;
  }
}

std::string driver_error_text(const Driver& driver, cuda::Result result, std::string_view call,
                              std::string_view advice) {
  if (advice.empty()) advice = known_advice(result);
  std::string text = fmt::format("{} failed: {}", call, result_text(driver, result));
  if (!advice.empty()) text += fmt::format("; {}", advice);
  return text;
}

}  // namespace thresher::gpu
