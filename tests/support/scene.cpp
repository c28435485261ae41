// SPDX-License-Identifier: Apache-2.0
#include "support/scene.hpp"

#include <algorithm>
#include <span>

namespace thresher::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kGuardBytes = 128;
constexpr std::uint8_t kPoison = 0xff;  // NaN in every output type
constexpr std::uint8_t kGuard = 0xa5;

template <typename Value>
void append(Bytes& bytes, const std::vector<Value>& values) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  bytes.insert(bytes.end(), first, first + values.size() * sizeof(Value));
}

}  // namespace

DeviceBytes::DeviceBytes(const Engine& engine, Bytes bytes) : host_(std::move(bytes)) {
  if (!engine.device().starts_with("gpu")) return;
  device_ = engine.allocate(host_.size());
  device_->copy_in(std::as_bytes(std::span(host_)));
}

std::uint8_t* DeviceBytes::data() const {
  return device_ ? static_cast<std::uint8_t*>(device_->data()) : host_.data();
}

void DeviceBytes::write(const Bytes& bytes) {
  std::copy(bytes.begin(), bytes.end(), host_.begin());
  if (device_) device_->copy_in(std::as_bytes(std::span(host_)));
}

Bytes DeviceBytes::read() const {
  Bytes bytes = host_;
  if (device_) device_->copy_out(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

Scene::Scene(const Engine& engine, Problem problem, InputFamily family, std::uint64_t seed,
             SceneLayout layout)
    : problem_(std::move(problem)),
      family_(family),
      layout_(layout),
      inputs_(make_inputs(problem_, family, seed)) {
  for (const GroupInputs& inputs : inputs_.groups) {
    weights_.push_back(engine.pack({.op = problem_.op,
                                    .b = inputs.b.view(),
                                    .up = inputs.b_up.view(),
                                    .activations = problem_.activations}));
  }
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < problem_.groups.size(); ++i) {
    const GroupInputs& inputs = inputs_.groups[i];
    counts.push_back(static_cast<std::uint32_t>(problem_.groups[i].m));
    groups_.push_back({.weights = &weights_[i],
                       .a_global_scale = inputs.a.global_scale,
                       .alpha = inputs.alpha,
                       .alpha_up = inputs.alpha_up});
    if (!layout.together) groups_[i].rows = add_rows(engine, i, 1);
  }
  if (layout.together) rows_ = add_rows(engine, 0, groups_.size());
  Bytes count_bytes;
  append(count_bytes, counts);
  counts_ = reinterpret_cast<const std::uint32_t*>(upload(engine, count_bytes));
}

// Nothing has an address too: a group without tokens might have got some.
const std::uint8_t* Scene::upload(const Engine& engine, Bytes bytes) {
  if (bytes.empty()) bytes.resize(1);
  return uploads_.emplace_back(engine, std::move(bytes)).data();
}

Rows Scene::add_rows(const Engine& engine, std::size_t first_group, std::size_t group_count) {
  Bytes a, a_scales;
  std::int64_t row_count = 0;
  for (std::size_t i = first_group; i < first_group + group_count; ++i) {
    const GroupInputs& inputs = inputs_.groups[i];
    append(a, inputs.a.codes);
    append(a, inputs.a16);
    append(a_scales, inputs.a.scales);
    row_count += problem_.groups[i].m;
  }
  const std::int64_t n = problem_.groups[first_group].n;
  const std::int64_t stride = n + layout_.stride_padding;
  // The last row ends with its last element.
  const std::int64_t elements =
      std::max<std::int64_t>(row_count * stride - layout_.stride_padding, 0);
  Bytes c(static_cast<std::size_t>(elements * bytes_per_element(problem_.output)) +
          2 * kGuardBytes);
  outputs_.push_back({row_count, n, stride, DeviceBytes(engine, std::move(c))});
  return {.a = upload(engine, std::move(a)),
          .a_scales = upload(engine, std::move(a_scales)),
          .c = outputs_.back().bytes.data() + kGuardBytes,
          .c_stride_elements = stride};
}

std::size_t Scene::row_offset(const OutputBuffer& output, std::int64_t row) const {
  return kGuardBytes + static_cast<std::size_t>(row * output.stride_elements *
                                                bytes_per_element(problem_.output));
}

std::int64_t Scene::first_row_of(std::size_t group) const {
  std::int64_t row = 0;
  for (std::size_t i = 0; layout_.together && i < group; ++i) row += problem_.groups[i].m;
  return row;
}

// The stride's padding counts as guard band: a kernel must not write there either.
Bytes Scene::poisoned(const OutputBuffer& output) const {
  Bytes bytes(output.bytes.read().size(), kGuard);
  for (std::int64_t row = 0; row < output.row_count; ++row) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(row_offset(output, row)),
                output.n * bytes_per_element(problem_.output), kPoison);
  }
  return bytes;
}

void Scene::poison() {
  for (OutputBuffer& output : outputs_) output.bytes.write(poisoned(output));
}

void Scene::run(const Engine& engine, std::string_view variant) {
  poison();
  const Plan plan = engine.plan(problem_, variant);
  engine.check(plan, operands());
  engine.run(plan, operands(), engine.workspace(plan));
}

Conformance Scene::conformance() const {
  std::vector<Bytes> contents;
  for (const OutputBuffer& output : outputs_) contents.push_back(output.bytes.read());
  std::vector<OutputView> views;
  for (std::size_t i = 0; i < problem_.groups.size(); ++i) {
    const OutputBuffer& output = outputs_[output_of(i)];
    views.push_back({.c = contents[output_of(i)].data() + row_offset(output, first_row_of(i)),
                     .stride_elements = output.stride_elements});
  }
  return check_outputs(problem_, inputs_, views, rigour_of(problem_, family_));
}

bool Scene::guards_intact() const {
  for (const OutputBuffer& output : outputs_) {
    const Bytes now = output.bytes.read();
    const Bytes before = poisoned(output);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (before[i] == kGuard && now[i] != kGuard) return false;
    }
  }
  return true;
}

std::string Scene::why_wrong() const {
  const Conformance result = conformance();
  if (!result.ok) return result.first_failure;
  return guards_intact() ? "" : "something beside the outputs was written";
}

Bytes Scene::output_bytes() const {
  Bytes all;
  for (std::size_t i = 0; i < problem_.groups.size(); ++i) {
    const OutputBuffer& output = outputs_[output_of(i)];
    const Bytes content = output.bytes.read();
    const std::int64_t row_bytes = output.n * bytes_per_element(problem_.output);
    for (std::int64_t row = 0; row < problem_.groups[i].m; ++row) {
      const auto begin =
          content.begin() + static_cast<std::ptrdiff_t>(row_offset(output, first_row_of(i) + row));
      all.insert(all.end(), begin, begin + row_bytes);
    }
  }
  return all;
}

Operands Scene::counted_operands() const {
  Operands counted = operands();
  counted.counts.counts = counts_;
  return counted;
}

Problem make_problem(std::vector<std::int64_t> m, std::int64_t n, std::int64_t k, Op op,
                     Activations activations, Output output) {
  Problem problem{.name = "scene", .op = op, .activations = activations, .output = output};
  for (const std::int64_t rows : m) problem.groups.push_back({.m = rows, .n = n, .k = k});
  return problem;
}

}  // namespace thresher::testing
