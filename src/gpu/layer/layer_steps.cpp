// SPDX-License-Identifier: Apache-2.0
#include "gpu/layer/layer_steps.hpp"

#include <algorithm>
#include <optional>

#include "gpu/gemm/entry_source.hpp"
#include "gpu/layer/layer_plan.hpp"
#include "gpu/layer/layer_source.hpp"
#include "gpu/runtime/kernel_source.hpp"
#include "gpu/runtime/memory.hpp"
#include "parallel.hpp"

namespace thresher::gpu {
namespace {

Kernel compile_step(const Gpu& gpu, const LayerConfig& config) {
  const std::string source = entry_source(config);
  const Compilation compilation =
      gpu.compile({.name = "layer.cu",
                   .source = source,
                   .headers = headers_of(source, kKernelSources),
                   .architecture = gpu.device.properties().architecture()});
  Kernel kernel = Module(gpu.device, compilation.cubin, "layer").kernel(kEntryName);
  // So that blocks of a product start beside its own.
  if (!is_few(config.step)) kernel.leave_shared_memory();
  return kernel;
}

struct StepKernel {
  explicit StepKernel(const LayerConfig& which) : config(which) {}

  LayerConfig config;
  std::optional<Kernel> kernel;
};

class GpuSteps : public backend::LayerSteps {
 public:
  GpuSteps(const Gpu& gpu, const SmLimits& limits, const backend::LayerShape& shape,
           const backend::LayerMemory& memory)
      : context_(gpu.device.context()),
        reaches_all_(gpu.device.properties().pageable_access),
        limits_(limits),
        shape_(shape),
        memory_(memory) {
    for (const LayerConfig& config : layer_configs(shape)) kernels_.emplace_back(config);
    for_each_in_parallel(std::ssize(kernels_), 0, [&](std::int64_t i) {
      auto& [config, kernel] = kernels_[static_cast<std::size_t>(i)];
      kernel.emplace(compile_step(gpu, config));
    });
  }

  std::size_t row_alignment() const override { return kLayerRowAlignment; }
  std::int64_t launch_count() const override { return 1; }

  bool reaches(const void* address) const override {
    return reaches_all_ || is_known_address(*context_, address);
  }

  void gather(const MoeTokens& tokens, void* stream) const override {
    launch(LayerStep::kGather, tokens, stream);
  }
  void activate(const MoeTokens& tokens, void* stream) const override {
    launch(LayerStep::kActivate, tokens, stream);
  }
  void combine(const MoeTokens& tokens, void* stream) const override {
    launch(LayerStep::kCombine, tokens, stream);
  }

  std::int64_t few_tokens_max() const override { return gpu::few_tokens_max(shape_); }
  void first(const MoeTokens& tokens, void* stream) const override {
    launch(LayerStep::kFirst, tokens, stream);
  }
  void down(const MoeTokens& tokens, void* stream) const override {
    launch(LayerStep::kDown, tokens, stream);
  }

 private:
  void launch(LayerStep step, const MoeTokens& tokens, void* handle) const {
    const LayerLaunch launch = layer_launch(shape_, memory_, step, tokens, limits_);
    const Stream stream(context_, static_cast<cuda::Stream>(handle));
    const auto found = std::find_if(kernels_.begin(), kernels_.end(), [&](const StepKernel& one) {
      return one.config == launch.config;
    });
    found->kernel->launch(stream,
                          {.grid = {static_cast<unsigned>(launch.block_count)},
                           .block = {static_cast<unsigned>(launch.thread_count)},
                           .shared_bytes = launch.shared_bytes,
                           .dependent = limits_.compute_capability >= kDependentLaunchMin},
                          launch.args);
  }

  const std::shared_ptr<Context> context_;
  const bool reaches_all_;
  const SmLimits limits_;
  const backend::LayerShape shape_;
  const backend::LayerMemory memory_;
  std::vector<StepKernel> kernels_;
};

}  // namespace

std::unique_ptr<backend::LayerSteps> layer_steps(const Gpu& gpu, const SmLimits& limits,
                                                 const backend::LayerShape& shape,
                                                 const backend::LayerMemory& memory) {
  return std::make_unique<GpuSteps>(gpu, limits, shape, memory);
}

}  // namespace thresher::gpu
