// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/kernel_scene.hpp"

#include <algorithm>
#include <cstring>

#include "thresher/error.hpp"

namespace thresher::gpu::sm90::testing {
namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::uint8_t kPoison = 0xff;  // NaN in every output type
constexpr std::uint8_t kGuard = 0xa5;

}  // namespace

KernelScene::KernelScene(Problem problem, SceneOptions options)
    : problem_(std::move(problem)),
      options_(options),
      inputs_(make_inputs(problem_, options.family, options.seed)) {
  make_outputs();
  pack_weights();
  call_.emplace(problem_, operands(),
                emulated::CallLayout{.rows_follow = options.rows_follow,
                                     .tokens_spare = options.tokens_spare});
}

void KernelScene::make_outputs() {
  for (const Group& group : problem_.groups) {
    if (options_.rows_follow && !outputs_.empty()) {
      outputs_.front().row_count += group.m;
    } else {
      outputs_.push_back({.row_count = group.m,
                          .n = group.n,
                          .stride_elements = group.n + options_.stride_padding});
    }
  }
  for (OutputBuffer& output : outputs_) {
    if (output.row_count == 0) continue;
    const std::int64_t elements = (output.row_count - 1) * output.stride_elements + output.n;
    const auto bytes = static_cast<std::size_t>(elements * element_bytes());
    output.bytes.resize(bytes + 2 * kGuardBytes);
    const auto start = reinterpret_cast<std::uintptr_t>(output.bytes.data());
    output.first_element = output.bytes.data() + (kGuardBytes - start % kGuardBytes);
  }
}

void KernelScene::pack_weights() {
  for (const GroupInputs& inputs : inputs_.groups) {
    weights_.push_back(
        problem_.op == Op::kDual
            ? emulated::pack_dual(inputs.b.view(), inputs.b_up.view(), problem_.activations)
            : emulated::pack(inputs.b.view(), problem_.activations));
  }
}

std::vector<emulated::HostOperands> KernelScene::operands() const {
  std::vector<emulated::HostOperands> operands;
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    const GroupInputs& inputs = inputs_.groups[g];
    operands.push_back({.a = inputs.a.view(),
                        .a16 = inputs.a16.data(),
                        .weights = &weights_[g],
                        .c = row_of(g, 0),
                        .c_stride_elements = stride_of(g),
                        .alpha = inputs.alpha,
                        .alpha_up = inputs.alpha_up});
  }
  return operands;
}

void KernelScene::poison() {
  for (OutputBuffer& output : outputs_) {
    std::fill(output.bytes.begin(), output.bytes.end(), kGuard);
    for (std::int64_t row = 0; row < output.row_count; ++row) {
      std::memset(output.first_element + row * output.stride_elements * element_bytes(), kPoison,
                  static_cast<std::size_t>(output.n * element_bytes()));
    }
  }
}

void KernelScene::run(const GemmKnobs& knobs, const KernelSet& kernels,
                      std::uint64_t emulator_seed) {
  const PlanRequest request{
      .problem = problem_, .token_limit = call_->token_limit(), .limits = emulated::kFewSms};
  if (const std::string reason = why_not(knobs, request); !reason.empty()) throw Error(reason);
  poison();
  call_->run(make_plan(knobs, request), kernels, emulator_seed);
}

std::int64_t KernelScene::stride_of(std::size_t group) const {
  return outputs_[options_.rows_follow ? 0 : group].stride_elements;
}

std::uint8_t* KernelScene::row_of(std::size_t group, std::int64_t row) const {
  const OutputBuffer& output = outputs_[options_.rows_follow ? 0 : group];
  if (output.first_element == nullptr) return nullptr;
  if (options_.rows_follow) {
    for (std::size_t g = 0; g < group; ++g) row += problem_.groups[g].m;
  }
  return output.first_element + row * output.stride_elements * element_bytes();
}

Conformance KernelScene::conformance() const {
  std::vector<OutputView> views;
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    views.push_back({.c = row_of(g, 0), .stride_elements = stride_of(g)});
  }
  return check_outputs(problem_, inputs_, views,
                       {.bitwise = compares_bitwise(problem_, options_.family)});
}

bool KernelScene::guards_intact() const {
  for (const OutputBuffer& output : outputs_) {
    std::vector<bool> ours(output.bytes.size(), false);
    for (std::int64_t row = 0; row < output.row_count; ++row) {
      const auto offset = output.first_element - output.bytes.data() +
                          row * output.stride_elements * element_bytes();
      std::fill_n(ours.begin() + offset, output.n * element_bytes(), true);
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (!ours[i] && output.bytes[i] != kGuard) return false;
    }
  }
  return true;
}

std::vector<std::uint8_t> KernelScene::output_bytes() const {
  std::vector<std::uint8_t> bytes;
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    for (std::int64_t row = 0; row < problem_.groups[g].m; ++row) {
      const std::uint8_t* first = row_of(g, row);
      bytes.insert(bytes.end(), first, first + problem_.groups[g].n * element_bytes());
    }
  }
  return bytes;
}

}  // namespace thresher::gpu::sm90::testing
