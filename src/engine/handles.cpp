// SPDX-License-Identifier: Apache-2.0
// Weights, Plan and Workspace: what a caller holds between calls.
#include "cpu/pages.hpp"
#include "engine/state.hpp"
#include "thresher/engine.hpp"

namespace thresher {

Op Weights::op() const { return state_->packed.op; }
std::int64_t Weights::n() const { return state_->packed.n; }
std::int64_t Weights::k_elements() const { return state_->packed.k_elements; }
std::size_t Weights::bytes() const { return state_->packed.pages.bytes(); }
Nvfp4Matrix Weights::unpack() const { return cpu::unpack_weights(state_->packed, 0); }

Nvfp4Matrix Weights::unpack_up() const {
  if (op() != Op::kDual) throw Error("unpack_up: these weights were packed for gemm, not for dual");
  return cpu::unpack_weights(state_->packed, 1);
}

const Problem& Plan::problem() const { return state_->problem; }
const std::string& Plan::variant() const { return state_->variant; }
std::size_t Plan::workspace_bytes() const { return state_->cpu.workspace_bytes; }

struct Workspace::State {
  cpu::Pages pages;
};

Workspace::Workspace(const Plan& plan)
    : state_(std::make_unique<State>(State{cpu::Pages(plan.workspace_bytes())})) {}
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

std::byte* Workspace::data() const {
  return state_ == nullptr ? nullptr : reinterpret_cast<std::byte*>(state_->pages.data());
}
std::size_t Workspace::bytes() const { return state_ == nullptr ? 0 : state_->pages.bytes(); }

}  // namespace thresher
