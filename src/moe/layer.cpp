// SPDX-License-Identifier: Apache-2.0
// The handle of a layer; what stands behind it is moe/device_layer.cpp.
#include "thresher/moe.hpp"

#include "moe/device_layer.hpp"

namespace thresher {

class MoeLayer::State : public moe::DeviceLayer {
 public:
  using DeviceLayer::DeviceLayer;
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
