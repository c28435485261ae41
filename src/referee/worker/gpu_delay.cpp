// SPDX-License-Identifier: Apache-2.0
#include "referee/worker/gpu_delay.hpp"

#include "gpu/engine/state.hpp"

namespace thresher::referee {
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

gpu::Kernel make_kernel(const GpuEngine::State& engine) {
  const gpu::CompileRequest request{.name = "delay.cu",
                                    .source = kSource,
                                    .architecture = engine.device.properties().architecture()};
  const gpu::Compilation compiled =
      engine.cache.get(engine.compiler, request, engine.driver_version);
  return gpu::Module(engine.device, compiled.cubin, request.name).kernel("delay");
}

}  // namespace

GpuDelay::GpuDelay(const GpuEngine& engine) : kernel_(make_kernel(engine.state())) {}

void GpuDelay::enqueue(const gpu::Stream& stream, std::int64_t ns) const {
  kernel_.launch(stream, {}, static_cast<unsigned long long>(ns));
}

}  // namespace thresher::referee
