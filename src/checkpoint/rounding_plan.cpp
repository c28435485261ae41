// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rounding_plan.hpp"

#include <fmt/format.h>

#include "checkpoint/layers.hpp"
#include "nvfp4/check.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

constexpr std::string_view kWeightSuffix = ".weight";

void need_plain(const State& state, const Tensor& tensor) {
  if (is_plain_type(tensor.dtype)) return;
  throw Error(fmt::format("{}: is {}; BF16, F16 or F32 can be quantised", state.place(tensor),
                          tensor.dtype));
}

void need_whole_blocks(const State& state, const Tensor& tensor, std::int64_t k_elements) {
  if (k_elements > 0 && k_elements % kBlockElements == 0) return;
  throw Error(fmt::format("{}: has shape {}; rows of a multiple of {} values can be quantised",
                          state.place(tensor), shape_text(tensor), kBlockElements));
}

// "q_proj" and its like: what models call their linear layers. Routers and embeddings are none.
bool is_linear(const Tensor& tensor) {
  const std::string_view name = tensor.name;
  return name.ends_with("_proj.weight") && is_plain_type(tensor.dtype) &&
         tensor.shape.size() == 2 && tensor.shape[1] % kBlockElements == 0 && tensor.shape[1] > 0;
}

class Planner {
 public:
  Planner(const State& state, CheckpointFormat format) : state_(state), format_(format) {}

  void add_experts() {
    for (const ExpertModules& expert : plain_experts(state_)) {
      // gate and up share one.
      const std::size_t scale = new_scale();
      if (!expert.gate.empty()) add_module(expert.gate, scale);
      add_module(expert.up, scale);
      add_module(expert.down, new_scale());
    }
    for (const PlainStacks& stacks : plain_stacks(state_)) add_stacks(stacks);
  }

  void add_linears() {
    for (const Tensor& tensor : state_.tensors()) {
      if (!is_linear(tensor) || plan_.replaced.contains(&tensor)) continue;
      add_module(tensor.name.substr(0, tensor.name.size() - kWeightSuffix.size()), new_scale());
    }
  }

  RoundingPlan take() { return std::move(plan_); }

 private:
  std::size_t new_scale() {
    plan_.scales.emplace_back();
    return plan_.scales.size() - 1;
  }

  void add_module(const std::string& module, std::size_t scale) {
    const Tensor* weight = state_.find(module + std::string(kWeightSuffix));
    if (weight == nullptr) {
      throw Error(fmt::format("{}: is not there; BF16, F16 or F32 can be quantised", module));
    }
    need_plain(state_, *weight);
    if (weight->shape.size() != 2) need_whole_blocks(state_, *weight, 0);
    need_whole_blocks(state_, *weight, weight->shape[1]);
    plan_.rounded.push_back({.name = module,
                             .matrices = {{.tensor = weight,
                                           .rows = weight->shape[0],
                                           .k_elements = weight->shape[1],
                                           .row_stride = weight->shape[1]}},
                             .scale = scale});
    plan_.scales[scale].push_back({weight, 0, value_count(*weight)});
    plan_.replaced.insert(weight);
  }

  void add_stacks(const PlainStacks& stacks) {
    for (const StoredStack* stack : {&stacks.gate_up, &stacks.down}) {
      need_plain(state_, *stack->codes);
      need_whole_blocks(state_, *stack->codes, stack->k_elements);
      nvfp4::check_matrix_extents(state_.place(*stack->codes).c_str(), stack->rows,
                                  stack->k_elements);
    }
    if (format_ == CheckpointFormat::kModelOpt && stacks.modelopt_keeps) {
      keep_stack(stacks.gate_up);
      keep_stack(stacks.down);
      return;
    }
    const std::int64_t intermediate = stacks.down.k_elements;
    const std::int64_t step = stacks.interleaved ? 2 : 1;
    const std::int64_t up = stacks.interleaved ? 1 : intermediate;
    for (std::int64_t e = 0; e < stacks.gate_up.expert_count; ++e) {
      const std::string prefix = fmt::format("{}.{}.", stacks.prefix, e);
      const std::size_t scale = scale_of_expert(stacks.gate_up, e);
      cut(stacks.gate_up, e, {prefix + stacks.gate, 0, step, intermediate}, scale);
      cut(stacks.gate_up, e, {prefix + stacks.up, up, step, intermediate}, scale);
      cut(stacks.down, e, {prefix + stacks.down_name, 0, 1, stacks.down.rows},
          scale_of_expert(stacks.down, e));
    }
  }

  // One global scale for all of it: ModelOpt's has one amax.
  void keep_stack(const StoredStack& stack) {
    const Tensor& tensor = *stack.codes;
    Rounded rounded{.name = tensor.name, .stacked = true, .scale = new_scale()};
    const std::int64_t count = stack.rows * stack.k_elements;
    for (std::int64_t e = 0; e < stack.expert_count; ++e) {
      rounded.matrices.push_back(part(stack, e, 0, 1, stack.rows));
      plan_.scales.back().push_back({&tensor, e * count, count});
    }
    plan_.rounded.push_back(std::move(rounded));
    plan_.replaced.insert(&tensor);
  }

  // Every `step`-th row of a stack's, from `first` on.
  struct Rows {
    std::string name;
    std::int64_t first;
    std::int64_t step;
    std::int64_t count;
  };

  static PlainMatrix part(const StoredStack& stack, std::int64_t expert, std::int64_t first,
                          std::int64_t step, std::int64_t count) {
    const std::int64_t row_stride = stack.rows_first ? stack.k_elements : 1;
    return {.tensor = stack.codes,
            .rows = count,
            .k_elements = stack.k_elements,
            .first = expert * stack.rows * stack.k_elements + first * row_stride,
            .row_stride = step * row_stride,
            .k_stride = stack.rows_first ? 1 : stack.rows};
  }

  void cut(const StoredStack& stack, std::int64_t expert, const Rows& rows, std::size_t scale) {
    plan_.rounded.push_back({.name = rows.name,
                             .matrices = {part(stack, expert, rows.first, rows.step, rows.count)},
                             .scale = scale});
    plan_.replaced.insert(stack.codes);
    if (stack.bias == nullptr) return;
    plan_.cut.push_back({.name = rows.name + ".bias",
                         .tensor = stack.bias,
                         .first = expert * stack.rows + rows.first,
                         .count = rows.count,
                         .stride = rows.step});
    plan_.replaced.insert(stack.bias);
  }

  std::size_t scale_of_expert(const StoredStack& stack, std::int64_t expert) {
    const std::size_t scale = new_scale();
    const std::int64_t count = stack.rows * stack.k_elements;
    plan_.scales[scale].push_back({stack.codes, expert * count, count});
    return scale;
  }

  const State& state_;
  const CheckpointFormat format_;
  RoundingPlan plan_;
};

}  // namespace

RoundingPlan plan_rounding(const State& state, CheckpointFormat format, bool linears) {
  Planner planner(state, format);
  planner.add_experts();
  if (linears) planner.add_linears();
  RoundingPlan plan = planner.take();
  if (plan.rounded.empty()) {
    throw Error(fmt::format("there is nothing to quantise: no {} in BF16, F16 or F32",
                            linears ? "linear layers" : "experts"));
  }
  return plan;
}

}  // namespace thresher::checkpoint
