// SPDX-License-Identifier: Apache-2.0
// check -> plan -> bind -> run, on whatever device was opened. The arithmetic is behind the doors
// (backend/); this file checks what callers bring, and keeps what they hold between calls.
#include "thresher/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/backends.hpp"
#include "engine/operands.hpp"
#include "engine/plan_file.hpp"

namespace thresher {
namespace {

void check_matrices(const WeightMatrices& matrices) {
  const Nvfp4View& b = matrices.b;
  const Nvfp4View& up = matrices.up;
  if (matrices.op == Op::kGemm) return check(b, "b");
  check(b, "gate");
  check(up, "up");
  if (b.rows == up.rows && b.k_elements == up.k_elements) return;
  throw Error(fmt::format("gate is {} x {} but up is {} x {}", b.rows, b.k_elements, up.rows,
                          up.k_elements));
}

void check_range(const char* what, std::size_t bytes, std::size_t offset, std::size_t count) {
  if (offset <= bytes && count <= bytes - offset) return;
  throw Error(fmt::format("{} of {} bytes at offset {} does not fit a buffer of {} bytes", what,
                          count, offset, bytes));
}

void check_plan(const backend::Device& device, const backend::Plan& plan) {
  if (plan.device != device.name()) {
    throw Error(fmt::format("the plan was made for device '{}', this engine's is '{}'", plan.device,
                            device.name()));
  }
  if (const std::string why = device.why_not_plan(plan); !why.empty()) throw Error(why);
}

void check_call(const backend::Device& device, const Plan& plan, const Operands& operands,
                std::size_t workspace_bytes) {
  check_plan(device, plan.state());
  check_operands(device, plan.state(), operands);
  if (workspace_bytes >= plan.workspace_bytes()) return;
  throw Error(fmt::format("the workspace has {} bytes, the plan needs {}", workspace_bytes,
                          plan.workspace_bytes()));
}

// A device's call, and what other rows have to fit.
class CheckedCall : public backend::Call {
 public:
  CheckedCall(const backend::Device& device, std::shared_ptr<const backend::Plan> plan,
              const Operands& operands, std::unique_ptr<backend::Call> call)
      : device_(device),
        plan_(std::move(plan)),
        together_(backend::rows_follow(operands)),
        counts_(operands.counts),
        call_(std::move(call)) {}

  void enqueue(const Rows* rows, void* stream) const override {
    if (rows != nullptr) {
      if (!together_) throw Error("other rows need a call that was bound with rows of all groups");
      check_rows(device_, *plan_, *rows, counts_);
    }
    call_->enqueue(rows, stream);
  }
  void rehearse() const override { call_->rehearse(); }

 private:
  const backend::Device& device_;
  const std::shared_ptr<const backend::Plan> plan_;
  const bool together_;
  const DeviceCounts counts_;
  const std::unique_ptr<backend::Call> call_;
};

// What is said of a plan file of this machine: of what is used of it, and of what is left out.
std::string note_of(const std::filesystem::path& path, const std::vector<PlanEntry>& used,
                    std::size_t left_out_count, const std::string& first_left_out) {
  const auto better =
      std::count_if(used.begin(), used.end(), [](const PlanEntry& entry) { return entry.better; });
  std::string note = fmt::format("{} is used: {} entries, {} better than the engine's choice",
                                 path.string(), used.size(), better);
  if (left_out_count == 0) return note;
  return note + fmt::format("; {} left out, {}{}", left_out_count,
                            left_out_count == 1 ? "" : "the first of them ", first_left_out);
}

template <typename State>
State& held(const std::unique_ptr<State>& state, const char* what) {
  if (state == nullptr) throw Error(fmt::format("this {} was moved from", what));
  return *state;
}

}  // namespace

Op Weights::op() const { return state_->op; }
std::int64_t Weights::n() const { return state_->n; }
std::int64_t Weights::k_elements() const { return state_->k_elements; }
std::size_t Weights::bytes() const { return state_->bytes(); }
Nvfp4Matrix Weights::unpack() const { return state_->unpack(0); }

Nvfp4Matrix Weights::unpack_up() const {
  if (op() != Op::kDual) throw Error("unpack_up: these weights were packed for gemm, not for dual");
  return state_->unpack(1);
}

const Problem& Plan::problem() const { return state_->problem; }
const std::string& Plan::variant() const { return state_->variant; }
std::size_t Plan::workspace_bytes() const { return state_->workspace_bytes; }
std::int64_t Plan::tokens_max() const { return state_->tokens_max; }
std::int64_t Plan::kernel_launch_count() const { return state_->kernel_launch_count; }
std::int64_t Plan::graph_launch_count() const { return state_->graph_launch_count; }
const std::vector<KernelReport>& Plan::kernels() const { return state_->kernels; }

Buffer::Buffer(std::unique_ptr<backend::Buffer> state) : state_(std::move(state)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::~Buffer() = default;

void* Buffer::data() const { return state_ == nullptr ? nullptr : state_->data(); }
std::size_t Buffer::bytes() const { return state_ == nullptr ? 0 : state_->bytes(); }

void Buffer::copy_in(std::span<const std::byte> from, std::size_t offset_bytes) const {
  const backend::Buffer& buffer = held(state_, "buffer");
  check_range("a copy in", buffer.bytes(), offset_bytes, from.size());
  buffer.copy_in(from, offset_bytes);
}

void Buffer::copy_out(std::span<std::byte> to, std::size_t offset_bytes) const {
  const backend::Buffer& buffer = held(state_, "buffer");
  check_range("a copy out", buffer.bytes(), offset_bytes, to.size());
  buffer.copy_out(to, offset_bytes);
}

std::size_t Workspace::bytes() const { return buffer_.bytes(); }

Call::Call(std::unique_ptr<backend::Call> state) : state_(std::move(state)) {}
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&&) noexcept = default;
Call::~Call() = default;

void Call::enqueue(void* stream) const { held(state_, "call").enqueue(nullptr, stream); }
void Call::enqueue(const Rows& rows, void* stream) const {
  held(state_, "call").enqueue(&rows, stream);
}

Engine::Engine(const EngineOptions& options) {
  const Backend& backend = backend_of_device(options.device);
  if (const std::string why = backend.why_not(options); !why.empty()) throw Error(why);
  state_ = backend.open(options);
  if (options.plan_file) use_plan_file(*options.plan_file);
}
Engine::Engine(std::unique_ptr<backend::Device> device) : state_(std::move(device)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

void Engine::use_plan_file(const std::filesystem::path& path) {
  const PlanFile file = read_plan_file(path);
  const PlanFingerprint here = fingerprint_of(*state_);
  const MachinePlan* found = find_machine(file, here);
  if (found == nullptr) {
    plan_note_ = fmt::format("{} is not used: {}", path.string(), why_foreign(file, here));
    return;
  }
  MachinePlan plan{.fingerprint = here};
  std::string left_out;  // the first, and why
  for (std::size_t i = 0; i < found->entries.size(); ++i) {
    const std::string why = why_not_entry(found->entries[i], *state_);
    if (why.empty()) plan.entries.push_back(found->entries[i]);
    if (!why.empty() && left_out.empty()) left_out = fmt::format("entry {}: {}", i, why);
  }
  plan_note_ = note_of(path, plan.entries, found->entries.size() - plan.entries.size(), left_out);
  plan_file_ = std::make_shared<const PlanFile>(PlanFile{{std::move(plan)}});
}

// What was measured on this machine for such a problem, or what the device's rule says.
std::string Engine::choose(const Problem& problem, std::int64_t tokens_max) const {
  const backend::Device& device = state();
  thresher::check(problem);
  if (tokens_max < 0) throw Error(fmt::format("tokens_max = {} is negative", tokens_max));
  const std::int64_t tokens = std::max(tokens_max, token_count(problem));
  if (plan_file_) {
    const PlanEntry* entry = find_entry(plan_file_->machines.front(), problem, tokens);
    if (entry != nullptr && entry->better &&
        device.row().supports(problem, entry->variant, device.machine()).ok) {
      return device.row().turned(entry->variant, {});
    }
  }
  return device.row().choose(problem, tokens, device.machine());
}

const backend::Device& Engine::state() const { return held(state_, "engine"); }

const std::string& Engine::device() const { return state().name(); }
std::string Engine::description() const { return state().description(); }
int Engine::thread_count() const { return state().machine().thread_count; }

Buffer Engine::allocate(std::size_t bytes) const { return Buffer(state().allocate(bytes)); }
void Engine::synchronize() const { state().synchronize(); }

Weights Engine::pack(const WeightMatrices& matrices) const {
  check_matrices(matrices);
  std::shared_ptr<backend::Weights> weights = state().pack(matrices);
  static_cast<backend::WeightFacts&>(*weights) = {
      .device = device(),
      .op = matrices.op,
      .n = matrices.b.rows,
      .k_elements = matrices.b.k_elements,
      .global_scale = matrices.b.global_scale,
      .global_scale_up = matrices.op == Op::kDual ? matrices.up.global_scale : 1.0f};
  return Weights(std::move(weights));
}

Weights Engine::duplicate(const Weights& weights) const {
  const backend::Weights& from = weights.state();
  if (from.device != device()) {
    throw Error(fmt::format("weights were packed on device '{}' but this engine's is '{}'",
                            from.device, device()));
  }
  std::shared_ptr<backend::Weights> copy = state().duplicate(from);
  static_cast<backend::WeightFacts&>(*copy) = from;
  return Weights(std::move(copy));
}

std::vector<std::string> Engine::variants() const {
  const Backend& backend = state().row();
  std::vector<std::string> names = backend.named_variants();
  std::erase_if(names, [&](const std::string& name) {
    return !backend.missing_for(name).empty() || !state().runs(name);
  });
  return names;
}

Support Engine::supports(const Problem& problem, std::string_view variant) const {
  thresher::check(problem);
  return state().row().supports(problem, variant, state().machine());
}

Plan Engine::plan(const Problem& problem, std::string_view variant, std::int64_t tokens_max) const {
  const backend::Device& device = state();
  thresher::check(problem);
  if (tokens_max < 0) throw Error(fmt::format("tokens_max = {} is negative", tokens_max));
  const std::int64_t tokens = std::max(tokens_max, token_count(problem));
  const std::string chosen =
      variant.empty() ? choose(problem, tokens) : device.row().turned(variant, {});
  const Support support = device.row().supports(problem, chosen, device.machine());
  if (!support.ok) {
    throw Error(fmt::format("variant '{}' cannot run problem '{}': {}", chosen, problem.name,
                            support.why_not));
  }
  std::shared_ptr<backend::Plan> plan = device.plan(problem, chosen, tokens);
  plan->device = device.name();
  plan->problem = problem;
  plan->variant = chosen;
  plan->tokens_max = tokens;
  return Plan(std::move(plan));
}

Workspace Engine::workspace(const Plan& plan) const {
  return Workspace(allocate(plan.workspace_bytes()));
}

void Engine::check(const Plan& plan, const Operands& operands) const {
  check_call(state(), plan, operands, plan.workspace_bytes());
  check_overlap(plan.state(), operands);
}

void Engine::run(const Plan& plan, const Operands& operands, const Workspace& workspace) const {
  const backend::Device& device = state();
  const backend::Buffer& scratch = held(workspace.buffer_.state_, "workspace");
  check_call(device, plan, operands, scratch.bytes());
  device.run(plan.state_, operands, scratch);
}

Call Engine::bind(const Plan& plan, const Operands& operands, const Workspace& workspace) const {
  const backend::Device& device = state();
  const backend::Buffer& scratch = held(workspace.buffer_.state_, "workspace");
  check_call(device, plan, operands, scratch.bytes());
  return Call(std::make_unique<CheckedCall>(device, plan.state_, operands,
                                            device.bind(plan.state_, operands, scratch)));
}

std::string why_no_device(const EngineOptions& options) {
  return backend_of_device(options.device).why_not(options);
}

}  // namespace thresher
