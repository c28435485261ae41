// SPDX-License-Identifier: Apache-2.0
#include "emulated/layer_steps.hpp"

#include <fmt/format.h>

#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "gpu/sm90/kernels/layer.cuh"
#include "gpu/sm90/layer_plan.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated {
namespace {

using backend::LayerMemory;
using backend::LayerShape;
using gpu::sm90::ActivationType;
using gpu::sm90::LayerArgs;
using gpu::sm90::LayerConfig;
using gpu::sm90::LayerStep;
using gpu::sm90::OutputType;

using LayerKernel = void (*)(const LayerArgs& args);

template <LayerStep kStep, ActivationType kActivations, OutputType kType>
constexpr LayerKernel kLayerKernel =
    gpu::sm90::layer_kernel<LayerConfig{.step = kStep, .activations = kActivations, .type = kType}>;

template <ActivationType kActivations>
LayerKernel gather_kernel(OutputType type) {
  switch (type) {
    case OutputType::kFp16:
      return kLayerKernel<LayerStep::kGather, kActivations, OutputType::kFp16>;
    case OutputType::kBf16:
      return kLayerKernel<LayerStep::kGather, kActivations, OutputType::kBf16>;
    case OutputType::kFp32:
      break;
  }
  return kLayerKernel<LayerStep::kGather, kActivations, OutputType::kFp32>;
}

template <ActivationType kActivations>
LayerKernel kernel_before_products(const LayerConfig& config) {
  if (config.step == LayerStep::kGather) return gather_kernel<kActivations>(config.type);
  return kLayerKernel<LayerStep::kActivate, kActivations, LayerConfig{}.type>;
}

LayerKernel combine_kernel(OutputType type) {
  constexpr ActivationType kAny = LayerConfig{}.activations;
  switch (type) {
    case OutputType::kFp16:
      return kLayerKernel<LayerStep::kCombine, kAny, OutputType::kFp16>;
    case OutputType::kBf16:
      return kLayerKernel<LayerStep::kCombine, kAny, OutputType::kBf16>;
    case OutputType::kFp32:
      break;
  }
  return kLayerKernel<LayerStep::kCombine, kAny, OutputType::kFp32>;
}

LayerKernel kernel_of(const LayerConfig& config) {
  if (config.step == LayerStep::kCombine) return combine_kernel(config.type);
  switch (config.activations) {
    case ActivationType::kNvfp4:
      return kernel_before_products<ActivationType::kNvfp4>(config);
    case ActivationType::kFp16:
      return kernel_before_products<ActivationType::kFp16>(config);
    case ActivationType::kBf16:
      break;
  }
  return kernel_before_products<ActivationType::kBf16>(config);
}

// What a step may touch, and may write.
class StepMemory {
 public:
  StepMemory(const LayerShape& shape, const LayerMemory& at, const MoeTokens& tokens)
      : shape_(shape), at_(at), tokens_(tokens), rows_(shape.row_count_max()) {
    const std::int64_t slots = tokens.token_count * shape.options.top_k;
    reads(tokens.ids, slots * 4, "ids");
    reads(tokens.weights, slots * 4, "weights");
    reads(tokens.shared_weights, tokens.token_count * shape.shared_count * 4, "shared weights");
    reads(at.input_scales, shape.group_count() * 4, "input scales");
    reads(at.down_input_scales, shape.group_count() * 4, "down input scales");
    reads(at.gate_biases, shape.group_count() * shape.intermediate * 4, "gate biases");
    reads(at.up_biases, shape.group_count() * shape.intermediate * 4, "up biases");
    reads(at.down_biases, shape.group_count() * shape.hidden * 4, "down biases");
  }

  void for_gather() {
    reads(tokens_.x, row_range(tokens_.x_stride_elements, shape_.options.x), "x");
    writes(at_.counts, (shape_.group_count() + 1) * 4, "counts");
    writes(at_.slot_of_row, rows_ * 4, "slots of rows");
    writes(at_.row_of_slot, rows_ * 4, "rows of slots");
    writes(at_.group_of_row, rows_ * 4, "groups of rows");
    add_activations(at_.a, at_.a_scales, shape_.hidden);
  }

  void for_activate() {
    reads(at_.counts, (shape_.group_count() + 1) * 4, "counts");
    reads(at_.group_of_row, rows_ * 4, "groups of rows");
    reads(at_.gate, rows_ * shape_.intermediate * 4, "gate products");
    reads(at_.up, rows_ * shape_.intermediate * 4, "up products");
    add_activations(at_.h, at_.h_scales, shape_.intermediate);
  }

  void for_combine() {
    reads(at_.row_of_slot, rows_ * 4, "rows of slots");
    reads(at_.group_of_row, rows_ * 4, "groups of rows");
    reads(at_.y, rows_ * shape_.hidden * 4, "down products");
    writes(tokens_.out, row_range(tokens_.out_stride_elements, shape_.options.out), "out");
  }

  const emulator::DeviceMemory& memory() const { return memory_; }

 private:
  void reads(const void* data, std::int64_t bytes, const char* name) {
    if (data != nullptr && bytes > 0) {
      memory_.add_read_only(data, static_cast<std::size_t>(bytes), name);
    }
  }
  void writes(void* data, std::int64_t bytes, const char* name) {
    if (data != nullptr && bytes > 0) memory_.add(data, static_cast<std::size_t>(bytes), name);
  }
  void add_activations(void* values, std::uint8_t* scales, std::int64_t count) {
    writes(values, shape_.quantizes() ? rows_ * count / 2 : rows_ * count * 2, "activations");
    writes(scales, rows_ * count / kBlockElements, "activation scales");
  }
  std::int64_t row_range(std::int64_t stride, Output type) const {
    const std::int64_t apart = stride == 0 ? shape_.hidden : stride;
    return ((tokens_.token_count - 1) * apart + shape_.hidden) * bytes_per_element(type);
  }

  const LayerShape& shape_;
  const LayerMemory& at_;
  const MoeTokens& tokens_;
  const std::int64_t rows_;
  emulator::DeviceMemory memory_;
};

class EmulatedSteps : public backend::LayerSteps {
 public:
  EmulatedSteps(const LayerShape& shape, const LayerMemory& memory, const SmLimits& limits,
                std::uint64_t seed)
      : shape_(shape), memory_(memory), limits_(limits), seed_(seed) {}

  std::size_t row_alignment() const override { return gpu::sm90::kLayerRowAlignment; }
  std::int64_t launch_count() const override { return 1; }

  void gather(const MoeTokens& tokens, void*) const override {
    StepMemory memory(shape_, memory_, tokens);
    memory.for_gather();
    run("gather", LayerStep::kGather, tokens, memory);
  }
  void activate(const MoeTokens& tokens, void*) const override {
    StepMemory memory(shape_, memory_, tokens);
    memory.for_activate();
    run("activate", LayerStep::kActivate, tokens, memory);
  }
  void combine(const MoeTokens& tokens, void*) const override {
    StepMemory memory(shape_, memory_, tokens);
    memory.for_combine();
    run("combine", LayerStep::kCombine, tokens, memory);
  }

 private:
  void run(const char* name, LayerStep step, const MoeTokens& tokens,
           const StepMemory& memory) const {
    const gpu::sm90::LayerLaunch launch =
        gpu::sm90::layer_launch(shape_, memory_, step, tokens, limits_);
    const LayerKernel kernel = kernel_of(gpu::sm90::layer_config(shape_, step));
    try {
      emulator::launch({.block_count = launch.block_count,
                        .thread_count = launch.thread_count,
                        .shared_bytes = launch.shared_bytes,
                        .seed = seed_,
                        .memory = &memory.memory()},
                       [&] { kernel(launch.args); });
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", name, error.what()));
    }
  }

  const LayerShape shape_;
  const LayerMemory memory_;
  const SmLimits limits_;
  const std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<backend::LayerSteps> layer_steps(const LayerShape& shape, const LayerMemory& memory,
                                                 const SmLimits& limits, std::uint64_t seed) {
  return std::make_unique<EmulatedSteps>(shape, memory, limits, seed);
}

}  // namespace thresher::emulated
