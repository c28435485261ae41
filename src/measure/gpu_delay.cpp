// SPDX-License-Identifier: Apache-2.0
#include "measure/gpu_delay.hpp"

namespace thresher::measure {
namespace {

// The device's nanosecond clock, whatever its SMs run at.
constexpr const char* kSource = R"(
__device__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}
extern "C" __global__ void delay(unsigned long long ns) {
  const unsigned long long begin = now_ns();
  while (now_ns() - begin < ns) {
  }
}
)";

gpu::Kernel make_kernel(const gpu::Gpu& gpu) {
  const gpu::CompileRequest request{.name = "delay.cu",
                                    .source = kSource,
                                    .architecture = gpu.device.properties().architecture()};
  return gpu::Module(gpu.device, gpu.compile(request).cubin, request.name).kernel("delay");
}

}  // namespace

GpuDelay::GpuDelay(const gpu::Gpu& gpu) : kernel_(make_kernel(gpu)) {}

void GpuDelay::enqueue(const gpu::Stream& stream, std::int64_t ns) const {
  kernel_.launch(stream, {}, static_cast<unsigned long long>(ns));
}

}  // namespace thresher::measure
