// SPDX-License-Identifier: Apache-2.0
// A layer on a device: gather -> gate and up -> what stands between -> down -> combine. The
// products are the engine's, bound once to the layer's own memory; the rest is the device's
// (backend/layer.hpp). So a call brings nothing but addresses, and the same file serves every
// device.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "backend/device.hpp"
#include "moe/ladder.hpp"
#include "moe/packed_layer.hpp"
#include "thresher/moe.hpp"

namespace thresher {

namespace moe {

// Device memory of a layer, dealt out in typed pieces.
class LayerBuffers {
 public:
  explicit LayerBuffers(const Engine& engine) : engine_(engine) {}

  template <class Value = std::byte>
  Value* take(std::int64_t count) {
    const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(Value);
    return static_cast<Value*>(buffers_.emplace_back(engine_.allocate(bytes)).data());
  }
  // Null for none.
  const float* copy(const std::vector<float>& values) {
    if (values.empty()) return nullptr;
    float* floats = take<float>(static_cast<std::int64_t>(values.size()));
    buffers_.back().copy_in(std::as_bytes(std::span(values)));
    return floats;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Buffer& buffer : buffers_) sum += buffer.bytes();
    return sum;
  }

 private:
  const Engine& engine_;
  std::vector<Buffer> buffers_;
};

// The products for calls of up to tokens_max tokens.
struct BoundRung {
  std::int64_t tokens_max = 0;
  std::vector<Plan> plans;
  std::vector<Call> first;  // one, or gate and up
  std::vector<Call> down;   // one
};

}  // namespace moe

namespace {

using backend::Between;
using backend::LayerShape;
using moe::BoundRung;
using moe::LayerBuffers;

std::int64_t activation_bytes(Activations activations, std::int64_t elements) {
  return activations == Activations::kNvfp4 ? elements / 2 : elements * 2;
}

backend::LayerMemory lay_out(const moe::PackedLayer& layer, LayerBuffers& memory) {
  const LayerShape& shape = layer.shape;
  const Activations activations = shape.options.activations;
  const std::int64_t rows = shape.row_count_max();
  const std::int64_t wide = rows * shape.hidden;
  const std::int64_t narrow = rows * shape.intermediate;
  backend::LayerMemory at;
  at.counts = memory.take<std::uint32_t>(shape.group_count() + 1);
  at.slot_of_row = memory.take<std::uint32_t>(rows);
  at.row_of_slot = memory.take<std::uint32_t>(rows);
  at.group_of_row = memory.take<std::uint32_t>(rows);
  // Nobody reads the gathered rows any more when the second product is written.
  at.y = memory.take<float>(wide);
  at.a = at.y;
  at.h = memory.take(activation_bytes(activations, narrow));
  if (shape.quantizes()) {
    at.a_scales = memory.take<std::uint8_t>(wide / kBlockElements);
    at.h_scales = memory.take<std::uint8_t>(narrow / kBlockElements);
    at.input_scales = memory.copy(layer.input_scales);
    at.down_input_scales = memory.copy(layer.down_input_scales);
  }
  const bool has_gate = shape.between == Between::kQuantize || !layer.first.empty();
  if (shape.between != Between::kNothing && has_gate) at.gate = memory.take<float>(narrow);
  if (shape.between == Between::kActivate) at.up = memory.take<float>(narrow);
  at.gate_biases = memory.copy(layer.gate_biases);
  at.up_biases = memory.copy(layer.up_biases);
  at.down_biases = memory.copy(layer.down_biases);
  return at;
}

// A product of the layer: whose weights, of which rows, to where.
struct Product {
  const Problem& problem;
  const std::vector<Weights>& weights;
  const std::vector<float>& input_scales;
  Rows rows;
};

std::vector<GroupOperands> operands_of(const Product& product) {
  std::vector<GroupOperands> groups;
  for (std::size_t g = 0; g < product.weights.size(); ++g) {
    groups.push_back({.weights = &product.weights[g], .a_global_scale = product.input_scales[g]});
  }
  return groups;
}

void check_stride(const char* name, std::int64_t stride, std::int64_t hidden,
                  std::int64_t alignment) {
  if (stride != 0 && (stride < hidden || stride > kMatrixElementsMax)) {
    throw Error(fmt::format("{} = {} is not 0 and not between hidden = {} and {}", name, stride,
                            hidden, kMatrixElementsMax));
  }
  if (stride % std::max<std::int64_t>(alignment, 1) == 0) return;
  throw Error(fmt::format("{} = {} is not a multiple of {}", name, stride, alignment));
}

void check_address(const char* name, const void* address, std::size_t alignment) {
  if (address == nullptr) throw Error(fmt::format("{} is null", name));
  if (reinterpret_cast<std::uintptr_t>(address) % alignment == 0) return;
  throw Error(fmt::format("{} is not aligned to {} bytes", name, alignment));
}

// Rows of a caller, as the device's memory holds them: without gaps.
struct StagedRows {
  std::int64_t row_bytes = 0;
  std::int64_t stride_bytes = 0;
  std::int64_t row_count = 0;

  template <class Copy>
  void for_each(const Copy& copy) const {
    if (stride_bytes == row_bytes) return copy(0, 0, row_bytes * row_count);
    for (std::int64_t row = 0; row < row_count; ++row) {
      copy(row * row_bytes, row * stride_bytes, row_bytes);
    }
  }
};

}  // namespace

class MoeLayer::State {
 public:
  State(const Engine& engine, const MoeSource& source, const MoeOptions& options)
      : device_(engine.state()),
        layer_(moe::pack_layer(engine, source, options)),
        memory_(engine),
        at_(lay_out(layer_, memory_)),
        steps_(device_.layer_steps(layer_.shape, at_)) {
    bind_all(engine);
    if (!device_.computes_in_host_memory()) stage(engine);
  }

  const LayerShape& shape() const { return layer_.shape; }
  const MoeOptions& options() const { return layer_.shape.options; }
  std::size_t weight_bytes() const { return layer_.weight_bytes(); }
  std::size_t workspace_bytes() const { return memory_.bytes() + workspace_->bytes(); }

  std::int64_t kernel_launch_count(std::int64_t token_count) const {
    const std::int64_t steps = shape().between == Between::kNothing ? 2 : 3;
    std::int64_t count = steps * steps_->launch_count();
    const BoundRung& rung = rung_for(token_count);
    for (std::size_t i = 0; i < rung.plans.size(); ++i) {
      // Gate and up share a plan, and are a call each.
      const auto calls = static_cast<std::int64_t>(i == 0 ? rung.first.size() : 1);
      count += calls * rung.plans[i].kernel_launch_count();
    }
    return count;
  }

  std::vector<std::string> variants(std::int64_t token_count) const {
    std::vector<std::string> names;
    for (const Plan& plan : rung_for(token_count).plans) names.push_back(plan.variant());
    return names;
  }

  void enqueue(const MoeTokens& tokens, void* stream) const {
    check(tokens);
    if (tokens.token_count == 0) return;
    if (!device_.computes_in_host_memory()) return queue(tokens, stream);
    const std::lock_guard turn(turn_);
    queue(tokens, stream);
  }

  void forward(const MoeTokens& tokens) const {
    if (device_.computes_in_host_memory() || tokens.token_count == 0) {
      return enqueue(tokens, nullptr);
    }
    check(tokens);
    const std::lock_guard turn(turn_);
    forward_staged(tokens);
  }

 private:
  void bind_all(const Engine& engine) {
    const moe::LayerProblems problems = moe::problems_of(shape());
    for (const moe::Rung& rung : moe::ladder_of(shape(), device_)) {
      const std::int64_t rows = rung.tokens_max * shape().slot_count();
      BoundRung& bound = rungs_.emplace_back();
      bound.tokens_max = rung.tokens_max;
      bound.plans.push_back(engine.plan(problems.first, rung.first, rows));
      bound.plans.push_back(engine.plan(problems.down, rung.down, rows));
      for (const Plan& plan : bound.plans) {
        // One product runs at a time: they share the largest workspace.
        if (workspace_ && workspace_->bytes() >= plan.workspace_bytes()) continue;
        workspace_.emplace(engine.workspace(plan));
      }
    }
    for (BoundRung& bound : rungs_) bind(engine, problems, bound);
  }

  void bind(const Engine& engine, const moe::LayerProblems& problems, BoundRung& bound) const {
    const auto add = [&](const Plan& plan, const Product& product, std::vector<Call>& calls) {
      const std::vector<GroupOperands> groups = operands_of(product);
      calls.push_back(engine.bind(
          plan, {.groups = groups, .rows = product.rows, .counts = {.counts = at_.counts}},
          *workspace_));
    };
    Rows rows{.a = at_.a, .a_scales = at_.a_scales};
    const std::vector<float>& scales = layer_.input_scales;
    if (!layer_.first.empty()) {
      rows.c = shape().between == Between::kNothing ? at_.h : at_.gate;
      add(bound.plans[0], {problems.first, layer_.first, scales, rows}, bound.first);
    }
    if (!layer_.up.empty()) {
      rows.c = at_.up;
      add(bound.plans[0], {problems.first, layer_.up, scales, rows}, bound.first);
    }
    add(bound.plans[1],
        {problems.down,
         layer_.down,
         layer_.down_input_scales,
         {.a = at_.h, .a_scales = at_.h_scales, .c = at_.y}},
        bound.down);
  }

  const BoundRung& rung_for(std::int64_t token_count) const {
    const auto found = std::find_if(rungs_.begin(), rungs_.end(), [&](const BoundRung& rung) {
      return token_count <= rung.tokens_max;
    });
    return found == rungs_.end() ? rungs_.back() : *found;
  }

  void queue(const MoeTokens& tokens, void* stream) const {
    const BoundRung& rung = rung_for(tokens.token_count);
    steps_->gather(tokens, stream);
    for (const Call& call : rung.first) call.enqueue(stream);
    if (shape().between != Between::kNothing) steps_->activate(tokens, stream);
    rung.down.front().enqueue(stream);
    steps_->combine(tokens, stream);
  }

  void check(const MoeTokens& tokens) const {
    if (tokens.token_count < 0 || tokens.token_count > options().tokens_max) {
      throw Error(
          fmt::format("token_count = {} is not between 0 and the {} that the layer was "
                      "made for",
                      tokens.token_count, options().tokens_max));
    }
    if (tokens.token_count == 0) return;
    check_rows("x", "x_stride_elements", tokens.x, tokens.x_stride_elements, options().x);
    check_address("ids", tokens.ids, sizeof(std::int32_t));
    check_address("weights", tokens.weights, sizeof(float));
    check_rows("out", "out_stride_elements", tokens.out, tokens.out_stride_elements, options().out);
  }

  void check_rows(const char* name, const char* stride_name, const void* address,
                  std::int64_t stride, Output type) const {
    const auto element = static_cast<std::size_t>(bytes_per_element(type));
    const std::size_t alignment = std::max(element, steps_->row_alignment());
    check_address(name, address, alignment);
    check_stride(stride_name, stride, shape().hidden,
                 static_cast<std::int64_t>(alignment / element));
  }

  // A device with memory of its own: where forward() puts what it copies.
  void stage(const Engine& engine) {
    const std::int64_t tokens = options().tokens_max;
    const auto add = [&](std::int64_t bytes) {
      staging_.push_back(
          engine.allocate(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))));
    };
    add(tokens * shape().hidden * bytes_per_element(options().x));
    add(tokens * options().top_k * static_cast<std::int64_t>(sizeof(std::int32_t)));
    add(tokens * options().top_k * static_cast<std::int64_t>(sizeof(float)));
    add(tokens * shape().shared_count * static_cast<std::int64_t>(sizeof(float)));
    add(tokens * shape().hidden * bytes_per_element(options().out));
  }

  StagedRows staged(std::int64_t stride, Output type, std::int64_t row_count) const {
    const std::int64_t element = bytes_per_element(type);
    return {.row_bytes = shape().hidden * element,
            .stride_bytes = (stride == 0 ? shape().hidden : stride) * element,
            .row_count = row_count};
  }

  void forward_staged(const MoeTokens& tokens) const {
    const auto bytes = [](const void* data, std::int64_t count) {
      return std::span(static_cast<const std::byte*>(data), static_cast<std::size_t>(count));
    };
    const std::int64_t slots = tokens.token_count * options().top_k;
    const StagedRows x = staged(tokens.x_stride_elements, options().x, tokens.token_count);
    x.for_each([&](std::int64_t to, std::int64_t from, std::int64_t count) {
      staging_[0].copy_in(bytes(static_cast<const std::byte*>(tokens.x) + from, count),
                          static_cast<std::size_t>(to));
    });
    staging_[1].copy_in(bytes(tokens.ids, slots * 4));
    staging_[2].copy_in(bytes(tokens.weights, slots * 4));
    MoeTokens there{.x = staging_[0].data(),
                    .ids = static_cast<const std::int32_t*>(staging_[1].data()),
                    .weights = static_cast<const float*>(staging_[2].data()),
                    .out = staging_[4].data(),
                    .token_count = tokens.token_count};
    if (tokens.shared_weights != nullptr) {
      staging_[3].copy_in(
          bytes(tokens.shared_weights, tokens.token_count * shape().shared_count * 4));
      there.shared_weights = static_cast<const float*>(staging_[3].data());
    }
    queue(there, nullptr);
    device_.synchronize();
    const StagedRows out = staged(tokens.out_stride_elements, options().out, tokens.token_count);
    out.for_each([&](std::int64_t from, std::int64_t to, std::int64_t count) {
      staging_[4].copy_out(
          {static_cast<std::byte*>(tokens.out) + to, static_cast<std::size_t>(count)},
          static_cast<std::size_t>(from));
    });
  }

  const backend::Device& device_;
  const moe::PackedLayer layer_;
  LayerBuffers memory_;
  const backend::LayerMemory at_;
  const std::unique_ptr<backend::LayerSteps> steps_;
  std::optional<Workspace> workspace_;
  std::vector<BoundRung> rungs_;
  std::vector<Buffer> staging_;  // x, ids, weights, shared weights, out
  mutable std::mutex turn_;
};

namespace {

MoeSource source_of(const MoeMatrices& matrices) {
  return {.expert_count = static_cast<std::int64_t>(matrices.experts.size()),
          .shared_count = static_cast<std::int64_t>(matrices.shared.size()),
          .expert = [&matrices](std::int64_t index) {
            const auto at = static_cast<std::size_t>(index);
            const std::size_t routed = matrices.experts.size();
            return at < routed ? matrices.experts[at] : matrices.shared[at - routed];
          }};
}

}  // namespace

MoeLayer::MoeLayer(const Engine& engine, const MoeMatrices& matrices, const MoeOptions& options)
    : MoeLayer(engine, source_of(matrices), options) {}
MoeLayer::MoeLayer(const Engine& engine, const MoeSource& source, const MoeOptions& options)
    : state_(std::make_unique<State>(engine, source, options)) {}
MoeLayer::MoeLayer(MoeLayer&&) noexcept = default;
MoeLayer& MoeLayer::operator=(MoeLayer&&) noexcept = default;
MoeLayer::~MoeLayer() = default;

const MoeLayer::State& MoeLayer::state() const {
  if (state_ == nullptr) throw Error("this layer was moved from");
  return *state_;
}

const MoeOptions& MoeLayer::options() const { return state().options(); }
std::int64_t MoeLayer::hidden() const { return state().shape().hidden; }
std::int64_t MoeLayer::intermediate() const { return state().shape().intermediate; }
std::int64_t MoeLayer::expert_count() const { return state().shape().expert_count; }
std::int64_t MoeLayer::shared_count() const { return state().shape().shared_count; }
std::size_t MoeLayer::weight_bytes() const { return state().weight_bytes(); }
std::size_t MoeLayer::workspace_bytes() const { return state().workspace_bytes(); }
std::int64_t MoeLayer::kernel_launch_count(std::int64_t token_count) const {
  return state().kernel_launch_count(token_count);
}
std::vector<std::string> MoeLayer::variants(std::int64_t token_count) const {
  return state().variants(token_count);
}
void MoeLayer::forward(const MoeTokens& tokens) const { state().forward(tokens); }
void MoeLayer::enqueue(const MoeTokens& tokens, void* stream) const {
  state().enqueue(tokens, stream);
}

}  // namespace thresher
