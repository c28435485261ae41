// SPDX-License-Identifier: Apache-2.0
// A plan bound to buffers: checked operands, the table the kernels read, launches ready to go.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gemm/factor.hpp"
#include "gpu/engine/state.hpp"
#include "gpu/sm90/plan_extents.hpp"

namespace thresher {
namespace {

constexpr std::uintptr_t kCodesAlignment = 8;
constexpr std::uintptr_t kWideAlignment = 16;

[[noreturn]] void fail(std::size_t index, const std::string& what) {
  throw Error(fmt::format("group {}: {}", index, what));
}

void check_address(std::size_t index, const char* name, const void* address,
                   std::uintptr_t alignment) {
  if (address == nullptr) fail(index, fmt::format("{} is null", name));
  if (reinterpret_cast<std::uintptr_t>(address) % alignment == 0) return;
  fail(index, fmt::format("{} is not aligned to {} bytes", name, alignment));
}

void check_weights(std::size_t index, const Problem& problem, const GpuWeights* weights) {
  const Group& group = problem.groups[index];
  if (weights == nullptr) fail(index, "weights is null");
  if (weights->op() != problem.op) {
    fail(index, fmt::format("weights were packed for {} but the problem is {}",
                            to_string(weights->op()), to_string(problem.op)));
  }
  if (weights->state().tiles.operand != gpu::sm90::operand_of(problem.activations)) {
    fail(index, fmt::format("weights were packed for {} activations but the problem has {}: say so "
                            "when you pack them",
                            problem.activations == Activations::kBf16 ? "nvfp4 or fp16" : "bf16",
                            to_string(problem.activations)));
  }
  if (weights->n() == group.n && weights->k_elements() == group.k) return;
  fail(index, fmt::format("weights are n = {}, k = {} but the plan has n = {}, k = {}",
                          weights->n(), weights->k_elements(), group.n, group.k));
}

// One group's line of the table. `rows_max` bounds its tokens; with none only n and k matter.
gpu::sm90::GroupEntry entry_of(std::size_t index, const Problem& problem,
                               const GpuGroupOperands& operands, std::int64_t rows_max) {
  const Group& group = problem.groups[index];
  gpu::sm90::GroupEntry entry{.n = static_cast<gpu::u32>(group.n),
                              .k = static_cast<gpu::u32>(group.k)};
  if (rows_max == 0) return entry;
  check_weights(index, problem, operands.weights);
  const bool nvfp4 = problem.activations == Activations::kNvfp4;
  if (nvfp4) {
    check_address(index, "a_codes", operands.a_codes, kCodesAlignment);
    check_address(index, "a_scales", operands.a_scales, 1);
    if (!std::isfinite(operands.a_global_scale)) {
      fail(index, fmt::format("a_global_scale = {} is not finite", operands.a_global_scale));
    }
  } else {
    check_address(index, "a16", operands.a16, kWideAlignment);
  }
  check_address(index, "c", operands.c,
                static_cast<std::uintptr_t>(bytes_per_element(problem.output)));
  const std::int64_t stride =
      operands.c_stride_elements == 0 ? group.n : operands.c_stride_elements;
  if (stride < group.n || stride > kMatrixElementsMax / rows_max) {
    fail(index, fmt::format("c_stride_elements = {} is not between n = {} and {}", stride, group.n,
                            kMatrixElementsMax / rows_max));
  }

  const GpuWeights::State& weights = operands.weights->state();
  const double a_scale = nvfp4 ? operands.a_global_scale : 1.0;
  const double factor = a_scale * operands.alpha * weights.global_scale;
  const double factor_up = a_scale * operands.alpha_up * weights.global_scale_up;
  std::string why = why_not_factor("alpha", operands.alpha, factor);
  if (why.empty() && problem.op == Op::kDual) {
    why = why_not_factor("alpha_up", operands.alpha_up, factor_up);
  }
  if (!why.empty()) fail(index, why);

  const auto address = [](const void* pointer) { return reinterpret_cast<gpu::u64>(pointer); };
  entry.weights = weights.buffer.address();
  entry.c = address(operands.c);
  entry.activations = address(nvfp4 ? operands.a_codes : operands.a16);
  entry.activation_scales = nvfp4 ? address(operands.a_scales) : 0;
  entry.c_stride_elements = static_cast<gpu::u64>(stride);
  entry.factor = gpu::sm90::split_factor(factor);
  if (problem.op == Op::kDual) entry.factor_up = gpu::sm90::split_factor(factor_up);
  return entry;
}

// Entries, token counts and zeroed counters, one after the other: one allocation and one copy.
struct Table {
  std::vector<std::byte> bytes;
  std::size_t counts_offset = 0;
  std::size_t counters_offset = 0;

  Table(std::span<const gpu::sm90::GroupEntry> entries, std::span<const gpu::u32> counts,
        std::size_t counter_bytes)
      : counts_offset(entries.size_bytes()), counters_offset(counts_offset + counts.size_bytes()) {
    bytes.resize(counters_offset + counter_bytes);
    std::memcpy(bytes.data(), entries.data(), entries.size_bytes());
    std::memcpy(bytes.data() + counts_offset, counts.data(), counts.size_bytes());
  }
};

unsigned count(int value) { return static_cast<unsigned>(value); }

// The launches with their arguments, in order. On one stream each may start while the one before it
// ends: a kernel fetches weights first and then waits for it.
void make_steps(GpuCall::State& call, const gpu::sm90::GroupTable& table, gpu::u32* counters,
                std::uint8_t* workspace) {
  const GpuPlan::State& plan = *call.plan;
  const auto group_count = static_cast<gpu::u32>(plan.problem.groups.size());
  const bool dependent = plan.variant.knobs.launches != gpu::sm90::Launches::kStreams;
  auto kernel = plan.kernel_of_launch.begin();
  if (const auto& images = plan.plan.images) {
    call.steps.push_back({.kernel = &plan.kernels[*kernel++],
                          .shape = {.grid = {count(images->block_count)},
                                    .block = {count(images->thread_count)},
                                    .dependent = dependent},
                          .args = gpu::sm90::image_args(plan.plan, table, group_count, workspace)});
  }
  for (const gpu::sm90::GemmLaunch& launch : plan.plan.launches) {
    gpu::sm90::GemmArgs args = gpu::sm90::gemm_args(plan.plan, launch, table, workspace);
    args.counters = counters + launch.counter_offset / sizeof(gpu::u32);
    args.image_counters = counters + plan.plan.workspace.image_counter_offset / sizeof(gpu::u32);
    call.steps.push_back({.kernel = &plan.kernels[*kernel++],
                          .shape = {.grid = {count(launch.block_count)},
                                    .block = {count(launch.thread_count)},
                                    .shared_bytes = launch.shared_bytes,
                                    .dependent = dependent},
                          .args = args,
                          // A group's launches depend on each other and stay on one stream.
                          .lane = launch.first_group});
  }
}

void launch(const GpuCall::State::Step& step, const gpu::Stream& stream) {
  std::visit([&](const auto& args) { step.kernel->launch(stream, step.shape, args); }, step.args);
}

}  // namespace

GpuCall GpuEngine::bind(const GpuPlan& plan, std::span<const GpuGroupOperands> operands,
                        const GpuWorkspace& workspace) const {
  return bind(plan, operands, workspace, {});
}

GpuCall GpuEngine::bind(const GpuPlan& plan, std::span<const GpuGroupOperands> operands,
                        const GpuWorkspace& workspace,
                        const DeviceTokenCounts& token_counts) const {
  const Problem& problem = plan.problem();
  const bool on_device = token_counts.counts != nullptr;
  if (operands.size() != problem.groups.size()) {
    throw Error(fmt::format("{} groups of operands for a plan with {} groups", operands.size(),
                            problem.groups.size()));
  }
  if (workspace.bytes() < plan.workspace_bytes()) {
    throw Error(fmt::format("the workspace has {} bytes, the plan needs {}", workspace.bytes(),
                            plan.workspace_bytes()));
  }
  const std::int64_t token_limit = plan.state().plan.token_limit;
  if (on_device && token_counts.tokens_max > token_limit) {
    throw Error(fmt::format("tokens_max = {} is more than the {} that the plan was made for",
                            token_counts.tokens_max, token_limit));
  }

  auto call = std::make_unique<GpuCall::State>();
  call->context = state_->device.context();
  call->plan = plan.state_;
  std::vector<gpu::sm90::GroupEntry> entries;
  std::vector<gpu::u32> counts;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::int64_t m = problem.groups[i].m;
    entries.push_back(entry_of(i, problem, operands[i], on_device ? token_counts.tokens_max : m));
    counts.push_back(static_cast<gpu::u32>(m));
  }
  const Table table(entries, counts, plan.state().plan.workspace.counter_bytes);
  call->table = gpu::DeviceBuffer(state_->device, table.bytes.size());
  call->table.copy_in(table.bytes);
  const gpu::sm90::GroupTable groups{
      .entries = call->table.pointer<gpu::sm90::GroupEntry>(),
      .token_counts =
          on_device ? token_counts.counts : call->table.pointer<gpu::u32>(table.counts_offset),
      .token_limit = static_cast<gpu::u32>(on_device ? token_counts.tokens_max : token_limit),
      .counts_known = on_device ? 0u : 1u};
  make_steps(*call, groups, call->table.pointer<gpu::u32>(table.counters_offset),
             workspace.state().buffer.pointer<std::uint8_t>());

  const gpu::sm90::Variant& variant = plan.state().variant;
  if (variant.knobs.launches == gpu::sm90::Launches::kStreams) {
    call->pool = state_->pool;
    for (std::size_t i = 0; i <= call->pool->size(); ++i) {
      call->events.emplace_back(state_->device, gpu::Event::Use::kOrder);
    }
  }
  if (variant.graph) {
    call->graph =
        gpu::Graph::capture(state_->stream, [&] { call->enqueue_kernels(state_->stream); });
  }
  return GpuCall(std::move(call));
}

void GpuCall::State::enqueue_kernels(const gpu::Stream& stream) const {
  if (pool == nullptr) {
    for (const Step& step : steps) launch(step, stream);
    return;
  }
  launch(steps.front(), stream);
  events.front().record(stream);
  for (const gpu::Stream& other : *pool) other.wait(events.front());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    launch(steps[i], (*pool)[steps[i].lane % pool->size()]);
  }
  for (std::size_t i = 0; i < pool->size(); ++i) {
    events[i + 1].record((*pool)[i]);
    stream.wait(events[i + 1]);
  }
}

GpuCall::GpuCall(std::unique_ptr<State> state) : state_(std::move(state)) {}
GpuCall::GpuCall(GpuCall&&) noexcept = default;
GpuCall& GpuCall::operator=(GpuCall&&) noexcept = default;
GpuCall::~GpuCall() = default;

void GpuCall::enqueue_kernels(void* stream) const {
  state_->enqueue_kernels(gpu::Stream(state_->context, static_cast<gpu::cuda::Stream>(stream)));
}

void GpuCall::enqueue(void* stream) const {
  if (!state_->graph) return enqueue_kernels(stream);
  state_->graph->launch(gpu::Stream(state_->context, static_cast<gpu::cuda::Stream>(stream)));
}

}  // namespace thresher
