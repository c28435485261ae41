// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/context.hpp"

#include <fmt/format.h>

namespace thresher::gpu {

Context::Context(const Driver& driver, int device_index)
    : driver_(&driver), device_index_(device_index) {
  check(driver.cuDeviceGet(&device_, device_index), "cuDeviceGet");
  check(driver.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
}

Context::~Context() {
  if (!is_of_parent()) driver_->cuDevicePrimaryCtxRelease(device_);
}

void Context::make_current() const { check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

void Context::fail(cuda::Result result, const std::string& call, std::string_view advice) const {
  const std::string where = fmt::format("GPU {}: {}", device_index_, call);
  const std::string text = driver_error_text(*driver_, result, where, advice);
  if (result == cuda::kOutOfMemory) throw NoMemory(text);
  throw DriverError(text, result);
}

}  // namespace thresher::gpu
