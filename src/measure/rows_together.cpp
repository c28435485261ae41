// SPDX-License-Identifier: Apache-2.0
#include "measure/rows_together.hpp"

#include <algorithm>
#include <cstring>

namespace thresher::measure {
namespace {

constexpr std::size_t kFrontGuardBytes = 256;
constexpr std::size_t kOutputAlignment = 64;

template <typename Values>
void append_bytes(const Values& values, std::vector<std::byte>& bytes) {
  const auto more = std::as_bytes(std::span(values));
  bytes.insert(bytes.end(), more.begin(), more.end());
}

Buffer buffer_with(const Engine& engine, const std::vector<std::byte>& bytes) {
  Buffer buffer = engine.allocate(bytes.size());
  buffer.copy_in(bytes);
  return buffer;
}

}  // namespace

bool RowsTogether::fit(const Problem& problem) {
  const Group& first = problem.groups.front();
  return token_count(problem) > 0 &&
         std::all_of(problem.groups.begin(), problem.groups.end(),
                     [&](const Group& group) { return group.n == first.n && group.k == first.k; });
}

RowsTogether::RowsTogether(const Engine& engine, const Problem& problem, const Inputs& inputs,
                           const GuardedOutputs& outputs)
    : outputs_(outputs) {
  place_activations(engine, problem, inputs);
  lay_out(problem);
  c_ = engine.allocate(host_.size());
}

void RowsTogether::place_activations(const Engine& engine, const Problem& problem,
                                     const Inputs& inputs) {
  std::vector<std::byte> a;
  std::vector<std::byte> scales;
  for (const GroupInputs& group : inputs.groups) {
    if (problem.activations == Activations::kNvfp4) {
      append_bytes(group.a.codes, a);
      append_bytes(group.a.scales, scales);
    } else {
      append_bytes(group.a16, a);
    }
  }
  a_ = buffer_with(engine, a);
  if (!scales.empty()) a_scales_ = buffer_with(engine, scales);
}

// The first row begins as far behind a boundary as on the host.
void RowsTogether::lay_out(const Problem& problem) {
  const std::span<std::byte> all = outputs_.bytes();
  const auto element_bytes = static_cast<std::size_t>(bytes_per_element(problem.output));
  std::size_t end = 0;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const auto* c = static_cast<const std::byte*>(outputs_.c(g));
    if (c == nullptr) continue;
    const auto begin = static_cast<std::size_t>(c - all.data());
    if (slices_.empty()) {
      const std::size_t guard = kFrontGuardBytes + begin % kOutputAlignment;
      slices_.push_back({begin - guard, guard});
    }
    stride_elements_ = outputs_.stride_elements(g);
    const auto elements = static_cast<std::size_t>(problem.groups[g].m * stride_elements_);
    slices_.push_back({begin, elements * element_bytes});
    end = begin + elements * element_bytes;
  }
  slices_.push_back({end, all.size() - end});
  std::size_t bytes = 0;
  for (const Slice& slice : slices_) bytes += slice.bytes;
  host_.resize(bytes);
}

Rows RowsTogether::rows() const {
  return {.a = a_->data(),
          .a_scales = a_scales_ ? a_scales_->data() : nullptr,
          .c = static_cast<std::byte*>(c_->data()) + slices_.front().bytes,
          .c_stride_elements = stride_elements_};
}

void RowsTogether::send() {
  std::byte* to = host_.data();
  for (const Slice& slice : slices_) {
    std::memcpy(to, outputs_.bytes().data() + slice.begin, slice.bytes);
    to += slice.bytes;
  }
  c_->copy_in(host_);
}

void RowsTogether::fetch() {
  c_->copy_out(host_);
  const std::byte* from = host_.data();
  for (const Slice& slice : slices_) {
    std::memcpy(outputs_.bytes().data() + slice.begin, from, slice.bytes);
    from += slice.bytes;
  }
}

}  // namespace thresher::measure
