// SPDX-License-Identifier: Apache-2.0
#include "measure/placed_problem.hpp"

namespace thresher::measure {

PlacedOutputs::PlacedOutputs(const Engine& engine, const GuardedOutputs& outputs)
    : outputs_(outputs), buffer_(engine.state().place(outputs.bytes())) {}

void PlacedOutputs::send() const { buffer_->copy_in(outputs_.bytes(), 0); }

void PlacedOutputs::fetch() const { buffer_->copy_out(outputs_.bytes(), 0); }

void* PlacedOutputs::c(std::size_t group_index) const {
  auto* host = static_cast<std::byte*>(outputs_.c(group_index));
  if (host == nullptr) return host;
  return static_cast<std::byte*>(buffer_->data()) + (host - outputs_.bytes().data());
}

WeightMatrices matrices_of(const Problem& problem, const GroupInputs& inputs) {
  WeightMatrices matrices{
      .op = problem.op, .b = inputs.b.view(), .activations = problem.activations};
  if (problem.op == Op::kDual) matrices.up = inputs.b_up.view();
  return matrices;
}

PlacedProblem::PlacedProblem(const Engine& engine, const Problem& problem, const Inputs& inputs)
    : problem_(problem), inputs_(inputs) {
  for (const GroupInputs& group : inputs.groups) {
    weights_.push_back(engine.pack(matrices_of(problem, group)));
  }
  place_activations(engine);
}

PlacedProblem::PlacedProblem(const Engine& engine, const PlacedProblem& other)
    : problem_(other.problem_), inputs_(other.inputs_) {
  for (const Weights& one : other.weights_) weights_.push_back(engine.duplicate(one));
  place_activations(engine);
}

template <typename Values>
const void* PlacedProblem::placed(const Engine& engine, const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  if (bytes.empty()) return bytes.data();
  buffers_.push_back(engine.state().place(bytes));
  buffers_.back()->copy_in(bytes, 0);
  return buffers_.back()->data();
}

void PlacedProblem::place_activations(const Engine& engine) {
  for (const GroupInputs& group : inputs_.groups) {
    if (problem_.activations == thresher::Activations::kNvfp4) {
      activations_.push_back({placed(engine, group.a.codes), placed(engine, group.a.scales)});
    } else {
      activations_.push_back({placed(engine, group.a16), nullptr});
    }
  }
}

std::vector<GroupOperands> PlacedProblem::operands(const PlacedOutputs& outputs) const {
  std::vector<GroupOperands> operands;
  for (std::size_t g = 0; g < weights_.size(); ++g) {
    const GroupInputs& group = inputs_.groups[g];
    operands.push_back({.weights = &weights_[g],
                        .a_global_scale = group.a.global_scale,
                        .alpha = group.alpha,
                        .alpha_up = group.alpha_up,
                        .rows = {.a = activations_[g].a,
                                 .a_scales = activations_[g].a_scales,
                                 .c = outputs.c(g),
                                 .c_stride_elements = outputs.stride_elements(g)}});
  }
  return operands;
}

}  // namespace thresher::measure
