// SPDX-License-Identifier: Apache-2.0
#include "cpu/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "cpu/backend.hpp"
#include "cpu/calibrate.hpp"
#include "cpu/choose.hpp"
#include "cpu/layer_steps.hpp"
#include "cpu/pages.hpp"
#include "cpu/pool.hpp"
#include "cpu/run.hpp"
#include "cpu/variant.hpp"

namespace thresher::cpu {
namespace {

constexpr int kThreadCountMax = 1024;

int checked_thread_count(int asked) {
  if (asked == 0) return std::min(usable_core_count(), kThreadCountMax);
  if (asked < 0 || asked > kThreadCountMax) {
    throw Error(fmt::format("thread_count = {} is not between 0 (one per core) and {}", asked,
                            kThreadCountMax));
  }
  return asked;
}

struct HostWeights : backend::Weights {
  std::size_t bytes() const override { return packed.pages.bytes(); }
  const void* data() const override { return packed.pages.data(); }
  Nvfp4Matrix unpack(int matrix) const override { return unpack_weights(packed, matrix); }

  PackedWeights packed;
};

struct HostPlan : backend::Plan {
  CpuPlan cpu;
};

class PagesBuffer : public backend::HostBuffer {
 public:
  explicit PagesBuffer(Pages pages)
      : HostBuffer(std::as_writable_bytes(std::span(pages.data(), pages.bytes()))),
        pages_(std::move(pages)) {}

 private:
  Pages pages_;
};

// What a group brings to every call.
GroupBuffers fixed_part(Activations activations, const GroupOperands& own) {
  GroupBuffers buffers;
  const backend::GroupFactors factors = backend::factors_of(activations, own);
  buffers.weights = &static_cast<const HostWeights&>(own.weights->state()).packed;
  buffers.factor = factors.gate;
  buffers.factor_up = factors.up;
  return buffers;
}

// Where a group's rows lie.
void place(const Problem& problem, const Group& group, const Rows& rows, GroupBuffers& at) {
  if (problem.activations == Activations::kNvfp4) {
    at.a_codes = static_cast<const std::uint8_t*>(rows.a);
    at.a_scales = static_cast<const std::uint8_t*>(rows.a_scales);
  } else {
    at.a16 = static_cast<const std::uint16_t*>(rows.a);
  }
  at.c = rows.c;
  at.c_stride_elements = backend::c_stride(rows, group);
}

// Writes down where everything lies; which rows of all are a group's, the cut says. `fixed`: empty,
// or what fixed_part() says of every group.
void lay_out(const Problem& problem, const Operands& operands, std::span<const GroupBuffers> fixed,
             std::span<GroupBuffers> buffers) {
  const bool together = backend::rows_follow(operands);
  for (std::size_t g = 0; g < buffers.size(); ++g) {
    const GroupOperands& own = operands.groups[g];
    const bool has_rows = operands.counts.counts != nullptr || problem.groups[g].m > 0;
    if (!has_rows || own.weights == nullptr) continue;
    buffers[g] = fixed.empty() ? fixed_part(problem.activations, own) : fixed[g];
    place(problem, problem.groups[g], together ? operands.rows : own.rows, buffers[g]);
  }
}

// Leaves out the rows that do not fit the limit.
void limit_rows(std::span<std::uint32_t> counts, std::int64_t limit) {
  std::int64_t sum = 0;
  for (const std::uint32_t rows : counts) sum += rows;
  if (sum <= limit) return;
  for (std::uint32_t& rows : counts) {
    rows = static_cast<std::uint32_t>(std::min<std::int64_t>(rows, limit));
    limit -= rows;
  }
}

// The cut of a call: the plan's own, or that of the rows that somebody has counted.
Cut cut_of(const HostPlan& plan, const DeviceCounts& counts, std::uint8_t* workspace) {
  if (counts.counts == nullptr) return plan.cpu.cut();
  const std::size_t group_count = plan.problem.groups.size();
  // A copy: whoever counted may count again, but not between two looks at a number.
  const std::span rows(reinterpret_cast<std::uint32_t*>(workspace + plan.cpu.count_offset),
                       group_count);
  std::copy_n(counts.counts, group_count, rows.begin());
  limit_rows(rows, counts.tokens_max > 0 ? counts.tokens_max : plan.tokens_max);
  auto* storage = reinterpret_cast<GroupCut*>(workspace + plan.cpu.cut_offset);
  return cut_rows(plan.cpu, rows, {storage, group_count});
}

class HostDevice : public backend::Device {
 public:
  explicit HostDevice(int thread_count) : Device(cpu_backend(), "cpu"), pool_(thread_count) {
    machine_.thread_count = thread_count;
  }

  std::string description() const override {
    return fmt::format("{}, {}", cpu_model(), threads_text());
  }
  const Machine& machine() const override { return machine_; }

  backend::Ceilings measure_ceilings(double seconds) const override {
    const Isa isa = best_isa();
    const Ceilings ceilings = cpu::measure_ceilings(isa, machine_.thread_count, seconds);
    return {.title = threads_text(),
            .rates = machine_rates(isa, ceilings),
            .text = fmt::format(
                "({}): DRAM read {:.1f} GB/s, {:.0f} GOP/s, {:.0f} GFLOP/s; noise {:.2f} %",
                to_string(isa), ceilings.read_gb_per_s, ceilings.integer_gop_per_s,
                ceilings.fma_gflop_per_s, 100 * ceilings.noise),
            .values = {{"read_gb_per_s", ceilings.read_gb_per_s},
                       {"integer_gop_per_s", ceilings.integer_gop_per_s},
                       {"fma_gflop_per_s", ceilings.fma_gflop_per_s},
                       {"noise", ceilings.noise}}};
  }

  std::vector<backend::Fact> facts() const override {
    return {{"cpu", cpu_model()}, {"cores", usable_core_count()}};
  }
  std::size_t cache_bytes() const override { return static_cast<std::size_t>(caches().l3_bytes); }
  std::unique_ptr<backend::Buffer> allocate(std::size_t bytes) const override {
    return std::make_unique<PagesBuffer>(Pages(bytes));
  }

  std::shared_ptr<backend::Weights> pack(const WeightMatrices& matrices) const override {
    auto weights = std::make_shared<HostWeights>();
    pool_.check_process();
    const std::lock_guard turn(pool_turn_);
    weights->packed =
        pack_weights(matrices.b, matrices.op == Op::kDual ? &matrices.up : nullptr, pool_, store_);
    return weights;
  }
  std::shared_ptr<backend::Weights> duplicate(const backend::Weights& weights) const override {
    auto copy = std::make_shared<HostWeights>();
    copy->packed = cpu::duplicate(static_cast<const HostWeights&>(weights).packed, store_);
    return copy;
  }

  std::size_t activation_alignment(Activations activations) const override {
    return activations == Activations::kNvfp4 ? 1 : 2;
  }
  std::shared_ptr<backend::Plan> plan(const Problem& problem, std::string_view variant,
                                      std::int64_t tokens_max) const override {
    auto plan = std::make_shared<HostPlan>();
    plan->cpu = make_plan(problem, variant_from_name(variant), machine_.thread_count, tokens_max);
    plan->workspace_bytes = plan->cpu.workspace_bytes;
    return plan;
  }

  std::string why_not_plan(const backend::Plan& plan) const override {
    const int planned = static_cast<const HostPlan&>(plan).cpu.thread_count;
    if (planned == machine_.thread_count) return {};
    return fmt::format("the plan was made for {} threads, this engine has {}", planned,
                       machine_.thread_count);
  }

  std::unique_ptr<backend::Call> bind(std::shared_ptr<const backend::Plan> plan,
                                      const Operands& operands,
                                      const backend::Buffer& workspace) const override;

  std::unique_ptr<backend::LayerSteps> layer_steps(
      const backend::LayerShape& shape, const backend::LayerMemory& memory) const override {
    return cpu::layer_steps(shape, memory, {pool_, pool_turn_});
  }

  void run(const std::shared_ptr<const backend::Plan>& plan, const Operands& operands,
           const backend::Buffer& workspace) const override {
    run_on(static_cast<const HostPlan&>(*plan), operands, {}, workspace);
  }

  // `fixed` as lay_out() takes it.
  void run_on(const HostPlan& plan, const Operands& operands, std::span<const GroupBuffers> fixed,
              const backend::Buffer& workspace) const {
    take_turn([&] {
      // A plan is shared by callers, the workspace is not: the call keeps its tables there.
      const std::span buffers(static_cast<GroupBuffers*>(workspace.data()), operands.groups.size());
      lay_out(plan.problem, operands, fixed, buffers);
      compute(plan, operands, buffers, workspace);
    });
  }
  // Where everything has been laid out.
  void run_bound(const HostPlan& plan, const Operands& operands,
                 std::span<const GroupBuffers> buffers, const backend::Buffer& workspace) const {
    take_turn([&] { compute(plan, operands, buffers, workspace); });
  }
  void rehearse(const HostPlan& plan, const Operands& operands,
                const backend::Buffer& workspace) const {
    take_turn([&] {
      cut_of(plan, operands.counts, static_cast<std::uint8_t*>(workspace.data()));
      cpu::rehearse(plan.cpu, pool_);
    });
  }

 private:
  template <class Work>
  void take_turn(const Work& work) const {
    pool_.check_process();
    const std::lock_guard turn(pool_turn_);
    work();
  }

  void compute(const HostPlan& plan, const Operands& operands,
               std::span<const GroupBuffers> buffers, const backend::Buffer& workspace) const {
    auto* memory = static_cast<std::uint8_t*>(workspace.data());
    const NanScale nan = cpu::run(plan.cpu, cut_of(plan, operands.counts, memory),
                                  {buffers, backend::rows_follow(operands)}, memory, pool_);
    if (!nan.found) return;
    throw Error(fmt::format("group {}: the scale of row {}, block {} of the activations is NaN",
                            nan.group_index, nan.row, nan.block));
  }

  std::string threads_text() const {
    return fmt::format("{} thread{}", machine_.thread_count, machine_.thread_count == 1 ? "" : "s");
  }

  Machine machine_;
  mutable Pool pool_;
  mutable std::mutex pool_turn_;
  mutable PageStore store_;  // of weights
};

// Computes at once when it is queued.
class HostCall : public backend::Call {
 public:
  HostCall(const HostDevice& device, std::shared_ptr<const HostPlan> plan, const Operands& operands,
           const backend::Buffer& workspace)
      : device_(device),
        plan_(std::move(plan)),
        groups_(operands.groups.begin(), operands.groups.end()),
        operands_(operands),
        buffers_(operands.groups.size()),
        workspace_(workspace) {
    operands_.groups = groups_;
    lay_out(plan_->problem, operands_, {}, buffers_);
  }

  void enqueue(const Rows* rows, void*) const override {
    if (rows == nullptr) return device_.run_bound(*plan_, operands_, buffers_, workspace_);
    Operands operands = operands_;
    operands.rows = *rows;
    device_.run_on(*plan_, operands, buffers_, workspace_);
  }
  void rehearse() const override { device_.rehearse(*plan_, operands_, workspace_); }

 private:
  const HostDevice& device_;
  const std::shared_ptr<const HostPlan> plan_;
  const std::vector<GroupOperands> groups_;
  Operands operands_;
  std::vector<GroupBuffers> buffers_;
  const backend::Buffer& workspace_;
};

std::unique_ptr<backend::Call> HostDevice::bind(std::shared_ptr<const backend::Plan> plan,
                                                const Operands& operands,
                                                const backend::Buffer& workspace) const {
  return std::make_unique<HostCall>(
      *this, std::static_pointer_cast<const HostPlan>(std::move(plan)), operands, workspace);
}

}  // namespace

std::unique_ptr<backend::Device> open_device(const EngineOptions& options) {
  return std::make_unique<HostDevice>(checked_thread_count(options.thread_count));
}

}  // namespace thresher::cpu
