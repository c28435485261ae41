// SPDX-License-Identifier: Apache-2.0
// A layer on a device: gather -> gate and up -> what stands between -> down -> combine. The
// products are the engine's, bound once to the layer's own memory; the rest is the device's
// (backend/layer.hpp). So a call brings nothing but addresses, and this file serves every device.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "moe/ladder.hpp"
#include "moe/packed_layer.hpp"
#include "thresher/moe.hpp"

namespace thresher::moe {

// Device memory of a layer, dealt out in typed pieces.
class LayerBuffers {
 public:
  explicit LayerBuffers(const Engine& engine) : engine_(engine) {}

  template <class Value = std::byte>
  Value* take(std::int64_t count) {
    return static_cast<Value*>(take_bytes(static_cast<std::size_t>(count) * sizeof(Value)));
  }
  // Null for none.
  template <class Value>
  const Value* copy(const std::vector<Value>& values) {
    if (values.empty()) return nullptr;
    Value* copied = take<Value>(static_cast<std::int64_t>(values.size()));
    buffers_.back().copy_in(std::as_bytes(std::span(values)));
    return copied;
  }
  std::size_t bytes() const;

 private:
  void* take_bytes(std::size_t bytes);

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

class DeviceLayer {
 public:
  DeviceLayer(const Engine& engine, const MoeSource& source, const MoeOptions& options);

  const backend::LayerShape& shape() const { return layer_.shape; }
  const MoeOptions& options() const { return layer_.shape.options; }
  std::size_t weight_bytes() const { return layer_.weight_bytes(); }
  std::size_t workspace_bytes() const { return memory_.bytes() + workspace_->bytes(); }
  std::int64_t kernel_launch_count(std::int64_t token_count) const;
  std::vector<std::string> variants(std::int64_t token_count) const;

  void enqueue(const MoeTokens& tokens, void* stream) const;
  void forward(const MoeTokens& tokens) const;

  // Parts of a call, for those who time them: products run on what was gathered last, or take the
  // tokens where they are few.
  void enqueue_gather(const MoeTokens& tokens, void* stream) const;
  void enqueue_products(const MoeTokens& tokens, void* stream) const;
  // Where a call returns with its work done: what it does to ids, and what it does beside its work
  // on any, with the counts of what was gathered last.
  void sort(const MoeTokens& tokens) const;
  void rehearse(const MoeTokens& tokens) const;

 private:
  void bind_all(const Engine& engine);
  void bind(const Engine& engine, const LayerProblems& problems, BoundRung& bound) const;
  bool is_few(std::int64_t token_count) const { return token_count <= steps_->few_tokens_max(); }
  const BoundRung& rung_for(std::int64_t token_count) const;
  void queue(const MoeTokens& tokens, void* stream) const;
  void check(const MoeTokens& tokens, std::size_t row_alignment) const;
  void check_reached(const MoeTokens& tokens) const;
  bool stage() const;
  void forward_staged(const MoeTokens& tokens) const;

  const backend::Device& device_;
  const PackedLayer layer_;
  LayerBuffers memory_;
  const backend::LayerMemory at_;
  const std::unique_ptr<backend::LayerSteps> steps_;
  std::optional<Workspace> workspace_;
  std::vector<BoundRung> rungs_;
  // A device with memory of its own: where forward() puts x, ids, weights, shared weights and out.
  mutable std::vector<std::unique_ptr<backend::Buffer>> staging_;
  mutable std::mutex turn_;
  // What the last call gave and the device can reach: x, ids, weights, shared weights and out.
  mutable std::array<std::atomic<const void*>, 5> reached_ = {};
};

}  // namespace thresher::moe
