// SPDX-License-Identifier: Apache-2.0
#include "moe/device_layer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend/backend.hpp"
#include "parallel.hpp"

namespace thresher::moe {
namespace {

using backend::Between;
using backend::LayerShape;

// What variants() says of products that are steps of the layer.
constexpr const char* kFewName = "few_rows";

std::int64_t activation_bytes(Activations activations, std::int64_t elements) {
  return activations == Activations::kNvfp4 ? elements / 2 : elements * 2;
}

std::vector<backend::LayerGroup> groups_of(const PackedLayer& layer) {
  std::vector<backend::LayerGroup> groups(static_cast<std::size_t>(layer.shape.group_count()));
  const auto place = [&](const std::vector<Weights>& weights, std::size_t g, float scale,
                         const void*& address) {
    if (weights.empty()) return backend::GroupFactors{};
    address = weights[g].state().data();
    return backend::factors_of(layer.shape.options.activations,
                               {.weights = &weights[g], .a_global_scale = scale});
  };
  for (std::size_t g = 0; g < groups.size(); ++g) {
    backend::LayerGroup& group = groups[g];
    const backend::GroupFactors first = place(layer.first, g, layer.input_scales[g], group.first);
    const backend::GroupFactors up = place(layer.up, g, layer.input_scales[g], group.up);
    group.factor = first.gate;
    group.factor_up = layer.up.empty() ? first.up : up.gate;
    group.factor_down = place(layer.down, g, layer.down_input_scales[g], group.down).gate;
  }
  return groups;
}

backend::LayerMemory lay_out(const PackedLayer& layer, LayerBuffers& memory) {
  const LayerShape& shape = layer.shape;
  const Activations activations = shape.options.activations;
  const std::int64_t rows = shape.row_count_max();
  const std::int64_t wide = rows * shape.hidden;
  const std::int64_t narrow = rows * shape.intermediate;
  backend::LayerMemory at;
  at.groups = memory.copy(groups_of(layer));
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
  if (stride != 0 && (stride < hidden || stride > kExtentMax)) {
    throw Error(fmt::format("{}_stride_elements = {} is not 0 and not between hidden = {} and {}",
                            name, stride, hidden, kExtentMax));
  }
  if (stride % alignment == 0) return;
  throw Error(
      fmt::format("{}_stride_elements = {} is not a multiple of {}", name, stride, alignment));
}

void check_address(const char* name, const void* address, std::size_t alignment) {
  if (address == nullptr) throw Error(fmt::format("{} is null", name));
  if (reinterpret_cast<std::uintptr_t>(address) % alignment == 0) return;
  throw Error(fmt::format("{} is not aligned to {} bytes", name, alignment));
}

// Rows of a caller, as the device's memory holds them: without gaps.
struct StagedRows {
  std::int64_t row_bytes;
  std::int64_t stride_bytes;
  std::int64_t row_count;

  StagedRows(std::int64_t hidden, std::int64_t stride, Output type, std::int64_t rows)
      : row_bytes(hidden * bytes_per_element(type)),
        stride_bytes((stride == 0 ? hidden : stride) * bytes_per_element(type)),
        row_count(rows) {}

  template <class Copy>
  void for_each(const Copy& copy) const {
    if (stride_bytes == row_bytes) return copy(0, 0, row_bytes * row_count);
    for (std::int64_t row = 0; row < row_count; ++row) {
      copy(row * row_bytes, row * stride_bytes, row_bytes);
    }
  }
};

}  // namespace

void* LayerBuffers::take_bytes(std::size_t bytes) {
  return buffers_.emplace_back(engine_.allocate(std::max<std::size_t>(bytes, 1))).data();
}

std::size_t LayerBuffers::bytes() const {
  std::size_t sum = 0;
  for (const Buffer& buffer : buffers_) sum += buffer.bytes();
  return sum;
}

DeviceLayer::DeviceLayer(const Engine& engine, const MoeSource& source, const MoeOptions& options)
    : device_(engine.state()),
      layer_(pack_layer(engine, source, options)),
      memory_(engine),
      at_(lay_out(layer_, memory_)),
      steps_(device_.layer_steps(layer_.shape, at_)) {
  bind_all(engine);
}

std::int64_t DeviceLayer::kernel_launch_count(std::int64_t token_count) const {
  if (is_few(token_count)) return 3 * steps_->launch_count();
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

std::vector<std::string> DeviceLayer::variants(std::int64_t token_count) const {
  if (is_few(token_count)) return {kFewName, kFewName};
  std::vector<std::string> names;
  for (const Plan& plan : rung_for(token_count).plans) names.push_back(plan.variant());
  return names;
}

void DeviceLayer::enqueue(const MoeTokens& tokens, void* stream) const {
  check(tokens, steps_->row_alignment());
  if (tokens.token_count == 0) return;
  check_reached(tokens);
  const std::unique_lock turn = device_.turn(turn_);
  queue(tokens, stream);
}

void DeviceLayer::forward(const MoeTokens& tokens) const {
  if (tokens.token_count == 0) return enqueue(tokens, nullptr);
  const std::lock_guard turn(turn_);
  const bool staged = stage();
  check(tokens, staged ? 1 : steps_->row_alignment());
  if (!staged) return queue(tokens, nullptr);
  forward_staged(tokens);
}

void DeviceLayer::bind_all(const Engine& engine) {
  const LayerProblems problems = problems_of(shape());
  const std::vector<Rung> ladder = ladder_of(shape(), engine, steps_->few_tokens_max());
  std::vector<std::optional<Plan>> plans(2 * ladder.size());
  // Where a plan compiles kernels, each takes seconds if they are new.
  for_each_in_parallel(std::ssize(plans), /*thread_count=*/0, [&](std::int64_t i) {
    const Rung& rung = ladder[static_cast<std::size_t>(i / 2)];
    const std::int64_t rows = rung.tokens_max * shape().slot_count();
    plans[static_cast<std::size_t>(i)] = i % 2 == 0 ? engine.plan(problems.first, rung.first, rows)
                                                    : engine.plan(problems.down, rung.down, rows);
  });
  for (std::size_t i = 0; i < ladder.size(); ++i) {
    BoundRung& bound = rungs_.emplace_back();
    bound.tokens_max = ladder[i].tokens_max;
    bound.plans.push_back(*std::move(plans[2 * i]));
    bound.plans.push_back(*std::move(plans[2 * i + 1]));
    for (const Plan& plan : bound.plans) {
      // One product runs at a time: they share the largest workspace.
      if (workspace_ && workspace_->bytes() >= plan.workspace_bytes()) continue;
      workspace_.emplace(engine.workspace(plan));
    }
  }
  for (BoundRung& bound : rungs_) bind(engine, problems, bound);
}

void DeviceLayer::bind(const Engine& engine, const LayerProblems& problems,
                       BoundRung& bound) const {
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

const BoundRung& DeviceLayer::rung_for(std::int64_t token_count) const {
  const auto found = std::find_if(rungs_.begin(), rungs_.end(), [&](const BoundRung& rung) {
    return token_count <= rung.tokens_max;
  });
  return found == rungs_.end() ? rungs_.back() : *found;
}

void DeviceLayer::queue(const MoeTokens& tokens, void* stream) const {
  if (is_few(tokens.token_count)) {
    enqueue_products(tokens, stream);
    return steps_->combine(tokens, stream);
  }
  const BoundRung& rung = rung_for(tokens.token_count);
  steps_->gather(tokens, stream);
  for (const Call& call : rung.first) call.enqueue(stream);
  if (shape().between != Between::kNothing) steps_->activate(tokens, stream);
  rung.down.front().enqueue(stream);
  steps_->combine(tokens, stream);
}

// `row_alignment`: of x and out and their rows, in bytes.
void DeviceLayer::check(const MoeTokens& tokens, std::size_t row_alignment) const {
  if (tokens.token_count < 0 || tokens.token_count > options().tokens_max) {
    throw Error(
        fmt::format("token_count = {} is not between 0 and the {} that the layer was made for",
                    tokens.token_count, options().tokens_max));
  }
  if (tokens.token_count == 0) return;
  const auto check_rows = [&](const char* name, const void* address, std::int64_t stride,
                              Output type) {
    const auto element = static_cast<std::size_t>(bytes_per_element(type));
    const std::size_t alignment = std::max(element, row_alignment);
    check_address(name, address, alignment);
    check_stride(name, stride, shape().hidden, static_cast<std::int64_t>(alignment / element));
  };
  check_rows("x", tokens.x, tokens.x_stride_elements, options().x);
  check_address("ids", tokens.ids, sizeof(std::int32_t));
  check_address("weights", tokens.weights, sizeof(float));
  check_rows("out", tokens.out, tokens.out_stride_elements, options().out);
}

// A driver is asked of addresses that the call before did not have: asking is not for nothing.
void DeviceLayer::check_reached(const MoeTokens& tokens) const {
  const std::pair<const char*, const void*> given[] = {{"x", tokens.x},
                                                       {"ids", tokens.ids},
                                                       {"weights", tokens.weights},
                                                       {"shared_weights", tokens.shared_weights},
                                                       {"out", tokens.out}};
  static_assert(std::size(given) == std::tuple_size_v<decltype(reached_)>);
  for (std::size_t i = 0; i < std::size(given); ++i) {
    const auto& [name, address] = given[i];
    if (address == nullptr || reached_[i].load(std::memory_order_relaxed) == address) continue;
    if (!steps_->reaches(address)) {
      throw Error(
          fmt::format("{} is memory of the host, where this device does not reach: enqueue() takes "
                      "the device's own, forward() the host's",
                      name));
    }
    reached_[i].store(address, std::memory_order_relaxed);
  }
}

// Memory of the device for what forward() copies there, once somebody calls it. False where the
// caller's serves.
bool DeviceLayer::stage() const {
  if (!staging_.empty()) return true;
  const std::int64_t tokens = options().tokens_max;
  std::vector<std::unique_ptr<backend::Buffer>> staging;
  const auto add = [&](std::int64_t bytes) {
    std::unique_ptr<backend::Buffer> own = device_.mirror(static_cast<std::size_t>(bytes));
    if (own) staging.push_back(std::move(own));
  };
  add(tokens * shape().hidden * bytes_per_element(options().x));
  add(tokens * options().top_k * static_cast<std::int64_t>(sizeof(std::int32_t)));
  add(tokens * options().top_k * static_cast<std::int64_t>(sizeof(float)));
  add(tokens * shape().shared_count * static_cast<std::int64_t>(sizeof(float)));
  add(tokens * shape().hidden * bytes_per_element(options().out));
  staging_ = std::move(staging);
  return !staging_.empty();
}

void DeviceLayer::forward_staged(const MoeTokens& tokens) const {
  const auto bytes = [](const void* data, std::int64_t count) {
    return std::span(static_cast<const std::byte*>(data), static_cast<std::size_t>(count));
  };
  const std::int64_t slots = tokens.token_count * options().top_k;
  const StagedRows x(shape().hidden, tokens.x_stride_elements, options().x, tokens.token_count);
  x.for_each([&](std::int64_t to, std::int64_t from, std::int64_t count) {
    staging_[0]->copy_in(bytes(static_cast<const std::byte*>(tokens.x) + from, count),
                         static_cast<std::size_t>(to));
  });
  staging_[1]->copy_in(bytes(tokens.ids, slots * 4), 0);
  staging_[2]->copy_in(bytes(tokens.weights, slots * 4), 0);
  MoeTokens there{.x = staging_[0]->data(),
                  .ids = static_cast<const std::int32_t*>(staging_[1]->data()),
                  .weights = static_cast<const float*>(staging_[2]->data()),
                  .out = staging_[4]->data(),
                  .token_count = tokens.token_count};
  if (tokens.shared_weights != nullptr) {
    staging_[3]->copy_in(
        bytes(tokens.shared_weights, tokens.token_count * shape().shared_count * 4), 0);
    there.shared_weights = static_cast<const float*>(staging_[3]->data());
  }
  queue(there, nullptr);
  device_.synchronize();
  const StagedRows out(shape().hidden, tokens.out_stride_elements, options().out,
                       tokens.token_count);
  out.for_each([&](std::int64_t from, std::int64_t to, std::int64_t count) {
    staging_[4]->copy_out(
        {static_cast<std::byte*>(tokens.out) + to, static_cast<std::size_t>(count)},
        static_cast<std::size_t>(from));
  });
}

void DeviceLayer::enqueue_gather(const MoeTokens& tokens, void* stream) const {
  check(tokens, steps_->row_alignment());
  steps_->gather(tokens, stream);
}

void DeviceLayer::enqueue_products(const MoeTokens& tokens, void* stream) const {
  if (is_few(tokens.token_count)) {
    steps_->first(tokens, stream);
    return steps_->down(tokens, stream);
  }
  const BoundRung& rung = rung_for(tokens.token_count);
  for (const Call& call : rung.first) call.enqueue(stream);
  rung.down.front().enqueue(stream);
}

void DeviceLayer::sort(const MoeTokens& tokens) const { steps_->sort(tokens); }

void DeviceLayer::rehearse(const MoeTokens& tokens) const {
  check(tokens, steps_->row_alignment());
  check_reached(tokens);
  const std::unique_lock turn = device_.turn(turn_);
  const BoundRung& rung = rung_for(tokens.token_count);
  steps_->rehearse(tokens);
  for (const Call& call : rung.first) call.state().rehearse();
  rung.down.front().state().rehearse();
}

}  // namespace thresher::moe
