// SPDX-License-Identifier: Apache-2.0
// The GPU's device on a driver and a compiler that only note what is asked of them.
#pragma once

#include <memory>
#include <utility>

#include "gpu/backend.hpp"
#include "gpu/gemm_device.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/fake_nvrtc.hpp"

namespace thresher::gpu::testing {

inline std::unique_ptr<backend::Device> open_fake(const FakeDriver& fake,
                                                  CubinCache cache = CubinCache(), int index = 0,
                                                  KernelsOf kernels = KernelsOf::kDevice) {
  return open_device(gpu_backend(),
                     {.device = Device(fake.driver, index),
                      .compiler = Compiler(FakeNvrtc::make()),
                      .cache = std::move(cache),
                      .driver_version = 13000},
                     "gpu:" + std::to_string(index), kernels);
}

}  // namespace thresher::gpu::testing
