// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_problem.hpp"

#include "gpu/engine/state.hpp"

namespace thresher::cli {
namespace {

template <typename Values>
gpu::DeviceBuffer uploaded(const gpu::Device& device, const Values& values) {
  gpu::DeviceBuffer buffer(device, gpu::bytes_of(values).size());
  if (buffer.bytes() > 0) buffer.copy_in(gpu::bytes_of(values));
  return buffer;
}

}  // namespace

DeviceOutputs::DeviceOutputs(const gpu::Device& device, const GuardedOutputs& outputs)
    : outputs_(outputs), buffer_(device, outputs.bytes().size()) {}

void* DeviceOutputs::c(std::size_t group_index) const {
  const void* host = outputs_.c(group_index);
  if (host == nullptr) return nullptr;
  return buffer_.pointer<std::uint8_t>(
      static_cast<std::size_t>(static_cast<const std::uint8_t*>(host) - outputs_.bytes().data()));
}

GpuProblem::GpuProblem(const GpuEngine& engine, const Problem& problem, const Inputs& inputs)
    : inputs_(inputs) {
  for (const GroupInputs& group : inputs.groups) {
    weights_.push_back(problem.op == Op::kDual ? engine.pack_dual(group.b.view(), group.b_up.view(),
                                                                  problem.activations)
                                               : engine.pack(group.b.view(), problem.activations));
  }
  upload_activations(engine.state().device);
}

GpuProblem::GpuProblem(const GpuEngine& engine, const GpuProblem& other) : inputs_(other.inputs_) {
  for (const GpuWeights& one : other.weights_) weights_.push_back(engine.duplicate(one));
  upload_activations(engine.state().device);
}

void GpuProblem::upload_activations(const gpu::Device& device) {
  for (const GroupInputs& group : inputs_.groups) {
    activations_.push_back({.codes = uploaded(device, group.a.codes),
                            .scales = uploaded(device, group.a.scales),
                            .a16 = uploaded(device, group.a16)});
  }
}

std::vector<GpuGroupOperands> GpuProblem::operands(const DeviceOutputs& outputs) const {
  std::vector<GpuGroupOperands> operands;
  for (std::size_t g = 0; g < weights_.size(); ++g) {
    const GroupInputs& group = inputs_.groups[g];
    operands.push_back({.a_codes = activations_[g].codes.pointer<void>(),
                        .a_scales = activations_[g].scales.pointer<void>(),
                        .a_global_scale = group.a.global_scale,
                        .a16 = activations_[g].a16.pointer<void>(),
                        .weights = &weights_[g],
                        .c = outputs.c(g),
                        .c_stride_elements = outputs.stride_elements(g),
                        .alpha = group.alpha,
                        .alpha_up = group.alpha_up});
  }
  return operands;
}

}  // namespace thresher::cli
