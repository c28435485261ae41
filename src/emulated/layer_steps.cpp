// SPDX-License-Identifier: Apache-2.0
#include "emulated/layer_steps.hpp"

#include <fmt/format.h>

#include <utility>

#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "gpu/layer/kernels/layer.cuh"
#include "gpu/layer/layer_plan.hpp"
#include "rounding.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated {
namespace {

using backend::LayerMemory;
using backend::LayerShape;
using gpu::ActivationType;
using gpu::LayerArgs;
using gpu::LayerConfig;
using gpu::LayerStep;
using gpu::OutputType;
using gpu::u32;

using LayerKernel = void (*)(const LayerArgs& args);

template <LayerStep kStep, ActivationType kActivations, OutputType kType>
constexpr LayerKernel kLayerKernel =
    gpu::layer_kernel<LayerConfig{.step = kStep, .activations = kActivations, .type = kType}>;

template <ActivationType kActivations>
LayerKernel gather_kernel(OutputType type) {
  if (type == OutputType::kFp16) {
    return kLayerKernel<LayerStep::kGather, kActivations, OutputType::kFp16>;
  }
  if (type == OutputType::kBf16) {
    return kLayerKernel<LayerStep::kGather, kActivations, OutputType::kBf16>;
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
  if (type == OutputType::kFp16) {
    return kLayerKernel<LayerStep::kCombine, kAny, OutputType::kFp16>;
  }
  if (type == OutputType::kBf16) {
    return kLayerKernel<LayerStep::kCombine, kAny, OutputType::kBf16>;
  }
  return kLayerKernel<LayerStep::kCombine, kAny, OutputType::kFp32>;
}

template <ActivationType kActivations, u32 kStrips>
LayerKernel few_kernel(const LayerConfig& config) {
  constexpr OutputType kOwn =
      kActivations == ActivationType::kFp16 ? OutputType::kFp16 : OutputType::kBf16;
  constexpr LayerConfig kFirst{
      .step = LayerStep::kFirst, .activations = kActivations, .type = kOwn, .strips = kStrips};
  constexpr LayerConfig kFirstOfFp32{.step = LayerStep::kFirst,
                                     .activations = kActivations,
                                     .type = OutputType::kFp32,
                                     .strips = kStrips};
  constexpr LayerConfig kDown{
      .step = LayerStep::kDown, .activations = kActivations, .strips = kStrips};
  if (config.step == LayerStep::kDown) return gpu::layer_kernel<kDown>;
  return config.type == kOwn ? gpu::layer_kernel<kFirst> : gpu::layer_kernel<kFirstOfFp32>;
}

template <ActivationType kActivations>
LayerKernel few_kernel(const LayerConfig& config) {
  return config.strips == 2 ? few_kernel<kActivations, 2>(config)
                            : few_kernel<kActivations, 4>(config);
}

LayerKernel kernel_of(const LayerConfig& config) {
  if (is_few(config.step)) {
    return config.activations == ActivationType::kFp16 ? few_kernel<ActivationType::kFp16>(config)
                                                       : few_kernel<ActivationType::kBf16>(config);
  }
  if (config.step == LayerStep::kCombine) return combine_kernel(config.type);
  if (config.activations == ActivationType::kNvfp4) {
    return kernel_before_products<ActivationType::kNvfp4>(config);
  }
  if (config.activations == ActivationType::kFp16) {
    return kernel_before_products<ActivationType::kFp16>(config);
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
    reads(at.groups, shape.group_count() * static_cast<std::int64_t>(sizeof *at.groups), "groups");
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

  void for_first() {
    for_few(
        "gate and up weights", [](const backend::LayerGroup& group) { return group.first; },
        (shape_.between == backend::Between::kNothing ? 2 : 1) * shape_.intermediate,
        shape_.hidden);
    for_few(
        "up weights", [](const backend::LayerGroup& group) { return group.up; },
        shape_.intermediate, shape_.hidden);
    reads(tokens_.x, row_range(tokens_.x_stride_elements, shape_.options.x), "x");
    writes(at_.row_of_slot, rows_ * 4, "rows of slots");
    writes(at_.group_of_row, rows_ * 4, "groups of rows");
    writes(at_.h, rows_ * shape_.intermediate * 2, "activations");
  }

  void for_down() {
    for_few(
        "down weights", [](const backend::LayerGroup& group) { return group.down; }, shape_.hidden,
        shape_.intermediate);
    reads(at_.h, rows_ * shape_.intermediate * 2, "activations");
    writes(at_.y, rows_ * shape_.hidden * 4, "down products");
  }

  const emulator::DeviceMemory& memory() const { return memory_; }

 private:
  // Device memory is the host's here, so the groups can be read.
  template <class Matrix>
  void for_few(const char* name, const Matrix& matrix, std::int64_t rows, std::int64_t k) {
    if (matrix(at_.groups[0]) == nullptr) return;
    const std::int64_t tiles = divide_up(rows, gpu::kTileRows) * divide_up(k, gpu::kTileK);
    for (std::int64_t i = 0; i < shape_.group_count(); ++i) {
      reads(matrix(at_.groups[i]), tiles * gpu::kTileBytes, name);
    }
  }

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
                std::shared_ptr<Timeline> timeline, std::uint64_t seed)
      : shape_(shape),
        memory_(memory),
        limits_(limits),
        timeline_(std::move(timeline)),
        seed_(seed) {}

  std::size_t row_alignment() const override { return gpu::kLayerRowAlignment; }
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

  std::int64_t few_tokens_max() const override { return gpu::few_tokens_max(shape_); }
  void first(const MoeTokens& tokens, void*) const override {
    StepMemory memory(shape_, memory_, tokens);
    memory.for_first();
    run("first", LayerStep::kFirst, tokens, memory);
  }
  void down(const MoeTokens& tokens, void*) const override {
    StepMemory memory(shape_, memory_, tokens);
    memory.for_down();
    run("down", LayerStep::kDown, tokens, memory);
  }

 private:
  void run(const char* name, LayerStep step, const MoeTokens& tokens,
           const StepMemory& memory) const {
    const gpu::LayerLaunch launch = gpu::layer_launch(shape_, memory_, step, tokens, limits_);
    const LayerKernel kernel = kernel_of(launch.config);
    try {
      timeline_->run([&](emulator::GlobalHistory& history) {
        emulator::launch(
            {.block_count = launch.block_count,
             .thread_count = launch.thread_count,
             .shared_bytes = launch.shared_bytes,
             .seed = seed_,
             .memory = &memory.memory(),
             .order = {.dependent = limits_.compute_capability >= gpu::kDependentLaunchMin},
             .history = &history},
            [&] { kernel(launch.args); });
      });
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", name, error.what()));
    }
  }

  const LayerShape shape_;
  const LayerMemory memory_;
  const SmLimits limits_;
  const std::shared_ptr<Timeline> timeline_;
  const std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<backend::LayerSteps> layer_steps(const LayerShape& shape, const LayerMemory& memory,
                                                 const SmLimits& limits,
                                                 std::shared_ptr<Timeline> timeline,
                                                 std::uint64_t seed) {
  return std::make_unique<EmulatedSteps>(shape, memory, limits, std::move(timeline), seed);
}

}  // namespace thresher::emulated
