// SPDX-License-Identifier: Apache-2.0
#include "support/scene.hpp"

#include <cstring>

namespace thresher::testing {
namespace {

constexpr std::size_t kGuardBytes = 128;
constexpr std::int64_t kStridePadding = 3;
constexpr std::uint8_t kPoison = 0xff;  // NaN in every output type
constexpr std::uint8_t kGuard = 0xa5;

}  // namespace

Scene::Scene(const Engine& engine, Problem problem, InputFamily family, std::uint64_t seed)
    : problem_(std::move(problem)), family_(family), inputs_(make_inputs(problem_, family, seed)) {
  const std::size_t count = problem_.groups.size();
  weights_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Group& group = problem_.groups[i];
    const GroupInputs& inputs = inputs_.groups[i];
    weights_.push_back(problem_.op == Op::kDual
                           ? engine.pack_dual(inputs.b.view(), inputs.b_up.view())
                           : engine.pack(inputs.b.view()));
    Buffer buffer;
    buffer.stride_elements = group.n + kStridePadding;
    const std::int64_t elements = group.m * buffer.stride_elements;
    buffer.bytes.resize(static_cast<std::size_t>(elements * bytes_per_element(problem_.output)) +
                        2 * kGuardBytes);
    buffers_.push_back(std::move(buffer));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const GroupInputs& inputs = inputs_.groups[i];
    operands_.push_back({.a = inputs.a.view(),
                         .a16 = inputs.a16.data(),
                         .weights = &weights_[i],
                         .c = first_element(buffers_[i]),
                         .c_stride_elements = buffers_[i].stride_elements,
                         .alpha = inputs.alpha,
                         .alpha_up = inputs.alpha_up});
  }
}

std::uint8_t* Scene::first_element(Buffer& buffer) const {
  return buffer.bytes.data() + kGuardBytes;
}
const std::uint8_t* Scene::first_element(const Buffer& buffer) const {
  return buffer.bytes.data() + kGuardBytes;
}

// The stride's padding counts as guard band: a kernel must not write there either.
void Scene::poison() {
  const std::size_t element = static_cast<std::size_t>(bytes_per_element(problem_.output));
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    std::memset(buffer.bytes.data(), kGuard, buffer.bytes.size());
    for (std::int64_t row = 0; row < problem_.groups[i].m; ++row) {
      const std::int64_t offset = row * buffer.stride_elements;
      std::memset(first_element(buffer) + static_cast<std::size_t>(offset) * element, kPoison,
                  static_cast<std::size_t>(problem_.groups[i].n) * element);
    }
  }
}

void Scene::run(const Engine& engine, std::string_view variant) {
  poison();
  const Plan plan = engine.plan(problem_, variant);
  engine.check(plan, operands_);
  Workspace workspace(plan);
  engine.run(plan, operands_, workspace);
}

Conformance Scene::conformance() const {
  std::vector<OutputView> views;
  for (const Buffer& buffer : buffers_) {
    views.push_back({.c = first_element(buffer), .stride_elements = buffer.stride_elements});
  }
  const bool bitwise = family_ == InputFamily::kExact && problem_.op == Op::kGemm;
  return check_outputs(problem_, inputs_, views, {.bitwise = bitwise});
}

bool Scene::guards_intact() const {
  const std::size_t element = static_cast<std::size_t>(bytes_per_element(problem_.output));
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    const std::size_t row_bytes = static_cast<std::size_t>(problem_.groups[i].n) * element;
    const std::size_t stride_bytes = static_cast<std::size_t>(buffer.stride_elements) * element;
    for (std::size_t at = 0; at < buffer.bytes.size(); ++at) {
      const bool inside = at >= kGuardBytes && at < buffer.bytes.size() - kGuardBytes &&
                          (at - kGuardBytes) % stride_bytes < row_bytes;
      if (!inside && buffer.bytes[at] != kGuard) return false;
    }
  }
  return true;
}

std::vector<std::uint8_t> Scene::output_bytes() const {
  const std::size_t element = static_cast<std::size_t>(bytes_per_element(problem_.output));
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const std::size_t row_bytes = static_cast<std::size_t>(problem_.groups[i].n) * element;
    for (std::int64_t row = 0; row < problem_.groups[i].m; ++row) {
      const std::uint8_t* begin =
          first_element(buffers_[i]) +
          static_cast<std::size_t>(row * buffers_[i].stride_elements) * element;
      bytes.insert(bytes.end(), begin, begin + row_bytes);
    }
  }
  return bytes;
}

Problem make_problem(std::vector<std::int64_t> m, std::int64_t n, std::int64_t k, Op op,
                     Activations activations, Output output) {
  Problem problem{.name = "scene", .op = op, .activations = activations, .output = output};
  for (const std::int64_t rows : m) problem.groups.push_back({.m = rows, .n = n, .k = k});
  return problem;
}

}  // namespace thresher::testing
