// SPDX-License-Identifier: Apache-2.0
// check -> plan -> run, on one screen each. The arithmetic is in cpu/; this file binds it to
// callers.
#include "thresher/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "cpu/choose.hpp"
#include "cpu/pool.hpp"
#include "cpu/run.hpp"
#include "engine/operands.hpp"
#include "engine/state.hpp"

namespace thresher {
namespace {

constexpr int kThreadCountMax = 1024;

int checked_thread_count(int asked) {
  if (asked == 0) return std::min(cpu::usable_core_count(), kThreadCountMax);
  if (asked < 0 || asked > kThreadCountMax) {
    throw Error(fmt::format("thread_count = {} is not between 0 (one per core) and {}", asked,
                            kThreadCountMax));
  }
  return asked;
}

void check_thread_count(const Plan& plan, int thread_count) {
  if (plan.state().cpu.thread_count == thread_count) return;
  throw Error(fmt::format("the plan was made for {} threads, this engine has {}",
                          plan.state().cpu.thread_count, thread_count));
}

// A factor near or below the smallest normal float would lose bits; 2^100 of it goes into `rest`.
cpu::Factor split_factor(double factor) {
  if (std::abs(factor) >= 0x1p-80) return {.main = static_cast<float>(factor)};
  return {.main = static_cast<float>(factor * 0x1p100), .rest = 0x1p-100f};
}

cpu::GroupBuffers buffers_of(const Group& group, Activations activations,
                             const GroupOperands& operands) {
  if (group.m == 0) return {};
  const cpu::PackedWeights& weights = operands.weights->state().packed;
  const bool nvfp4 = activations == Activations::kNvfp4;
  const Factors factors = factors_of(activations, operands);
  return {.a_codes = nvfp4 ? operands.a.codes : nullptr,
          .a_scales = nvfp4 ? operands.a.scales : nullptr,
          .a16 = nvfp4 ? nullptr : operands.a16,
          .weights = &weights,
          .c = operands.c,
          .c_stride_elements = c_stride(group, operands),
          .factor = split_factor(factors.gate),
          .factor_up = split_factor(factors.up)};
}

}  // namespace

struct Engine::State {
  explicit State(int thread_count) : pool(thread_count) {}

  cpu::Pool pool;
  std::mutex pool_turn;
};

Engine::Engine(EngineOptions options)
    : state_(std::make_unique<State>(checked_thread_count(options.thread_count))) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Engine::State& Engine::state() const {
  if (state_ == nullptr) throw Error("this engine was moved from");
  return *state_;
}

int Engine::thread_count() const { return state().pool.thread_count(); }

Weights Engine::pack(const Nvfp4View& b) const {
  thresher::check(b, "b");
  State& engine = state();
  const std::lock_guard turn(engine.pool_turn);
  return Weights(
      std::make_shared<Weights::State>(Weights::State{cpu::pack_weights(b, nullptr, engine.pool)}));
}

Weights Engine::pack_dual(const Nvfp4View& gate, const Nvfp4View& up) const {
  thresher::check(gate, "gate");
  thresher::check(up, "up");
  if (gate.rows != up.rows || gate.k_elements != up.k_elements) {
    throw Error(fmt::format("gate is {} x {} but up is {} x {}", gate.rows, gate.k_elements,
                            up.rows, up.k_elements));
  }
  State& engine = state();
  const std::lock_guard turn(engine.pool_turn);
  return Weights(
      std::make_shared<Weights::State>(Weights::State{cpu::pack_weights(gate, &up, engine.pool)}));
}

std::vector<std::string> Engine::variants() const {
  std::vector<std::string> names;
  const cpu::Isa first = cpu::best_vector_isa();
  const auto add = [&names](cpu::Isa isa) {
    for (const cpu::Variant& variant : cpu::named_variants(isa)) names.push_back(name(variant));
  };
  add(first);
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    if (isa != first) add(isa);
  }
  return names;
}

Support Engine::supports(const Problem& problem, std::string_view variant) const {
  thresher::check(problem);
  return cpu::supports(cpu::variant_from_name(variant), problem, thread_count());
}

Plan Engine::plan(const Problem& problem, std::string_view variant) const {
  thresher::check(problem);
  const cpu::Variant chosen =
      variant.empty() ? cpu::choose(problem) : cpu::variant_from_name(variant);
  const Support support = cpu::supports(chosen, problem, thread_count());
  if (!support.ok) {
    throw Error(fmt::format("variant '{}' cannot run problem '{}': {}", name(chosen), problem.name,
                            support.why_not));
  }
  return Plan(std::make_shared<Plan::State>(
      Plan::State{.problem = problem,
                  .variant = name(chosen),
                  .cpu = cpu::make_plan(problem, chosen, thread_count())}));
}

void Engine::check(const Plan& plan, std::span<const GroupOperands> operands) const {
  check_thread_count(plan, thread_count());
  check_operands(plan.problem(), operands);
  check_overlap(plan.problem(), operands);
}

void Engine::run(const Plan& plan, std::span<const GroupOperands> operands,
                 Workspace& workspace) const {
  const Problem& problem = plan.problem();
  State& engine = state();
  check_thread_count(plan, engine.pool.thread_count());
  check_operands(problem, operands);
  if (workspace.bytes() < plan.workspace_bytes()) {
    throw Error(fmt::format("the workspace has {} bytes, the plan needs {}", workspace.bytes(),
                            plan.workspace_bytes()));
  }
  const std::lock_guard turn(engine.pool_turn);
  // A plan is shared by callers, the workspace is not: the call keeps its table of buffers there.
  cpu::GroupBuffers* buffers = reinterpret_cast<cpu::GroupBuffers*>(workspace.data());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    buffers[i] = buffers_of(problem.groups[i], problem.activations, operands[i]);
  }
  const cpu::NanScale nan =
      cpu::run(plan.state().cpu, {buffers, operands.size()},
               reinterpret_cast<std::uint8_t*>(workspace.data()), engine.pool);
  if (nan.found) {
    throw Error(fmt::format("group {}: the scale of row {}, block {} of the activations is NaN",
                            nan.group_index, nan.row, nan.block));
  }
}

}  // namespace thresher
