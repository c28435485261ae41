// SPDX-License-Identifier: Apache-2.0
// Weights in device memory, plans with their compiled kernels, calls bound to tables on the device.
#include "gpu/gemm_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <variant>

#include "gpu/calibrate.hpp"
#include "gpu/gemm/entry_source.hpp"
#include "gpu/gemm/operands.hpp"
#include "gpu/gemm/plan_extents.hpp"
#include "gpu/gemm/variant.hpp"
#include "gpu/layer/layer_steps.hpp"
#include "gpu/packed_weights.hpp"
#include "gpu/runtime/graph.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/sm100/weight_images.hpp"
#include "gpu/tensor_maps.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu {
namespace {

constexpr std::size_t kPoolStreams = 8;
// A launch gets as much shared memory without asking.
constexpr std::size_t kSharedBytesUnasked = 48 << 10;

// Streams for launches=streams. Calls may share them: they order nothing but what they must.
using StreamPool = std::vector<Stream>;

struct GpuWeights : backend::Weights {
  std::size_t bytes() const override { return buffer.bytes(); }
  const void* data() const override { return buffer.pointer<void>(); }
  Nvfp4Matrix unpack(int matrix) const override {
    std::vector<std::uint8_t> packed(buffer.bytes());
    buffer.copy_out(bytes_of(packed));
    Nvfp4Matrix unpacked = gpu::unpack(form, packed, matrix);
    unpacked.global_scale = matrix == 0 ? global_scale : global_scale_up;
    return unpacked;
  }

  PackedForm form;
  DeviceBuffer buffer;
};

struct GpuPlan : backend::Plan {
  Variant knobs;
  GemmPlan gemm;
  std::vector<Kernel> compiled;  // launches of the same kernel share it
  // The prologue's if it has one, then one per launch of the plan.
  std::vector<std::size_t> kernel_of_launch;
};

// A kernel of a plan, before it is compiled.
struct KernelText {
  std::string source;
  KernelReport report;  // what is known of it by then
};

std::string_view name_of(const GemmLaunch& launch) {
  switch (launch.config.product) {
    case Product::kGemm:
      return "gemm";
    case Product::kDual:
      return "dual";
    case Product::kGatePass:
      return "gate";
    case Product::kUpPass:
      break;
  }
  return "up";
}

// In the order of the launches, a prologue first.
std::vector<KernelText> kernel_texts(const GemmPlan& plan) {
  std::vector<KernelText> texts;
  if (const auto& images = plan.images) {
    texts.push_back({entry_source(*images),
                     {.name = "images",
                      .block_count = images->block_count,
                      .thread_count = images->thread_count}});
  }
  for (const GemmLaunch& launch : plan.launches) {
    texts.push_back({entry_source(launch),
                     {.name = std::string(name_of(launch)),
                      .shared_bytes = launch.shared_bytes,
                      .block_count = launch.block_count,
                      .thread_count = launch.thread_count}});
  }
  return texts;
}

// A GPU that is taken for an Ampere gets Ampere's PTX, so that it runs no other instructions.
std::string architecture_of(const Gpu& gpu, KernelsOf kernels) {
  if (kernels == KernelsOf::kDevice) return gpu.device.properties().architecture();
  return fmt::format("compute_{}", kComputeCapabilityMin);
}

Compilation compiled(const Gpu& gpu, const KernelText& text, const std::string& architecture) {
  return gpu.compile({.name = text.report.name + ".cu",
                      .source = text.source,
                      .headers = headers_of(text.source, kKernelSources),
                      .architecture = architecture});
}

// Puts each distinct kernel of a plan on the device once.
class KernelMaker {
 public:
  KernelMaker(const Gpu& gpu, std::string architecture, GpuPlan& plan)
      : gpu_(gpu), architecture_(std::move(architecture)), plan_(plan) {}

  void add(const KernelText& text) {
    const auto [found, is_new] = index_of_.emplace(text.source, plan_.compiled.size());
    if (is_new) load(text);
    plan_.kernel_of_launch.push_back(found->second);
  }

 private:
  void load(const KernelText& text) {
    const Compilation compilation = compiled(gpu_, text, architecture_);
    KernelReport report = text.report;
    for (const KernelResources& one : compilation.kernels) {
      report.register_count = one.register_count;
      report.spill_bytes = static_cast<std::size_t>(one.spill_store_bytes.value_or(0) +
                                                    one.spill_load_bytes.value_or(0));
    }
    Kernel kernel = Module(gpu_.device, compilation.cubin, report.name).kernel(kEntryName);
    if (compilation.kernels.empty()) {  // of PTX the driver knows it, and memory as a whole
      const KernelResources loaded = kernel.resources();
      report.register_count = loaded.register_count;
      report.spill_bytes = static_cast<std::size_t>(loaded.stack_bytes);
    }
    if (report.shared_bytes > kSharedBytesUnasked) kernel.allow_shared_bytes(report.shared_bytes);
    if (report.shared_bytes == 0) kernel.leave_shared_memory();
    plan_.compiled.push_back(std::move(kernel));
    plan_.kernels.push_back(std::move(report));
  }

  const Gpu& gpu_;
  const std::string architecture_;
  GpuPlan& plan_;
  std::map<std::string, std::size_t> index_of_;
};

// A launch with its arguments.
struct Step {
  const Kernel* kernel = nullptr;
  LaunchShape shape;
  std::variant<ImageArgs, GemmArgs> args;
  std::size_t lane = 0;  // which stream of the pool, where there is one

  void launch(const Stream& stream, const RowsTable* rows) const {
    std::visit(
        [&](auto own) {
          if (rows != nullptr) own.table.rows = *rows;
          kernel->launch(stream, shape, own);
        },
        args);
  }
};

std::vector<Step> steps_of(const GpuPlan& plan, const GroupTable& table, u32* counters,
                           std::uint8_t* workspace) {
  const auto count = [](int value) { return static_cast<unsigned>(value); };
  const auto group_count = static_cast<u32>(plan.problem.groups.size());
  const GemmKnobs& knobs = plan.knobs.knobs;
  const bool dependent = launches_depend(knobs.mma, knobs.launches);
  std::vector<Step> steps;
  auto kernel = plan.kernel_of_launch.begin();
  if (const auto& images = plan.gemm.images) {
    steps.push_back({.kernel = &plan.compiled[*kernel++],
                     .shape = {.grid = {count(images->block_count)},
                               .block = {count(images->thread_count)},
                               .dependent = dependent},
                     .args = image_args(plan.gemm, table, group_count, workspace)});
  }
  for (const GemmLaunch& launch : plan.gemm.launches) {
    GemmArgs args = gemm_args(plan.gemm, launch, table, workspace);
    args.counters = counters + launch.counter_offset / sizeof(u32);
    args.image_counters = counters + plan.gemm.workspace.image_counter_offset / sizeof(u32);
    steps.push_back({.kernel = &plan.compiled[*kernel++],
                     .shape = {.grid = {count(launch.block_count)},
                               .block = {count(launch.thread_count)},
                               .cluster = {count(launch.cluster_blocks)},
                               .shared_bytes = launch.shared_bytes,
                               .dependent = dependent},
                     .args = args,
                     // A group's launches depend on each other and stay on one stream.
                     .lane = launch.first_group});
  }
  return steps;
}

// Entries, token counts and zeroed counters, one after the other: one allocation and one copy.
class CallTable {
 public:
  CallTable(const Device& device, std::span<const GroupEntry> entries, std::span<const u32> counts,
            std::size_t counter_bytes)
      : counts_offset_(entries.size_bytes()),
        counters_offset_(counts_offset_ + counts.size_bytes()),
        memory_(device, counters_offset_ + counter_bytes) {
    std::vector<std::byte> bytes(memory_.bytes());
    std::memcpy(bytes.data(), entries.data(), entries.size_bytes());
    std::memcpy(bytes.data() + counts_offset_, counts.data(), counts.size_bytes());
    memory_.copy_in(bytes);
  }

  const GroupEntry* entries() const { return memory_.pointer<GroupEntry>(); }
  const u32* counts() const { return memory_.pointer<u32>(counts_offset_); }
  u32* counters() const { return memory_.pointer<u32>(counters_offset_); }

 private:
  std::size_t counts_offset_;
  std::size_t counters_offset_;
  DeviceBuffer memory_;
};

std::vector<u64> weight_addresses(const Operands& operands) {
  std::vector<u64> addresses;
  for (const GroupOperands& group : operands.groups) {
    const void* const packed = group.weights == nullptr ? nullptr : group.weights->state().data();
    addresses.push_back(reinterpret_cast<u64>(packed));
  }
  return addresses;
}

// Tensor maps of the groups' weights, where the plan's kernels copy by them; nothing elsewhere.
DeviceBuffer weight_maps(const Device& device, const GpuPlan& plan, const Operands& operands) {
  if (!weights_by_map(plan.gemm)) return {};
  std::vector<hw::TensorMap> maps;
  for (const u64 address : weight_addresses(operands)) {
    const Group& group = plan.problem.groups[maps.size()];
    hw::TensorMap& map = maps.emplace_back();
    if (address == 0) continue;
    map = encode(
        device.context()->driver(),
        sm100::map_of({.op = plan.problem.op, .n = group.n, .k_elements = group.k}, address));
  }
  DeviceBuffer buffer(device, maps.size() * sizeof(hw::TensorMap));
  buffer.copy_in(std::as_bytes(std::span(maps)));
  return buffer;
}

CallTable table_for(const Device& device, const GpuPlan& plan, const Operands& operands,
                    const DeviceBuffer& maps) {
  std::vector<u64> weights = weight_addresses(operands);
  std::vector<u32> counts;
  for (std::size_t g = 0; g < plan.problem.groups.size(); ++g) {
    if (maps.bytes() > 0 && weights[g] != 0)
      weights[g] = maps.address() + g * sizeof(hw::TensorMap);
    counts.push_back(static_cast<u32>(plan.problem.groups[g].m));
  }
  return {device, group_entries(plan.problem, operands, weights), counts,
          plan.gemm.workspace.counter_bytes};
}

class GpuCall : public backend::Call {
 public:
  GpuCall(const Device& device, const Stream& recorder, std::shared_ptr<const StreamPool> pool,
          std::shared_ptr<const GpuPlan> plan, const Operands& operands, std::uint8_t* workspace)
      : context_(device.context()),
        plan_(std::move(plan)),
        maps_(weight_maps(device, *plan_, operands)),
        table_(table_for(device, *plan_, operands, maps_)),
        steps_(steps_of(*plan_, group_table(operands), table_.counters(), workspace)) {
    if (plan_->knobs.knobs.launches == Launches::kStreams) {
      pool_ = std::move(pool);
      for (std::size_t i = 0; i <= pool_->size(); ++i) {
        events_.emplace_back(device, Event::Use::kOrder);
      }
    }
    if (plan_->knobs.graph) {
      graph_ = Graph::capture(recorder, [&] { launch_all(recorder, nullptr); });
    }
  }

  // A graph has its rows recorded, and cannot itself be recorded: its kernels are launched then.
  void enqueue(const Rows* rows, void* handle) const override {
    const Stream stream(context_, static_cast<cuda::Stream>(handle));
    if (rows != nullptr) {
      const RowsTable other = rows_table(*rows, plan_->problem.groups.front());
      return launch_all(stream, &other);
    }
    if (graph_ && !stream.is_capturing()) return graph_->launch(stream);
    launch_all(stream, nullptr);
  }

 private:
  GroupTable group_table(const Operands& operands) const {
    const bool on_device = operands.counts.counts != nullptr;
    const std::int64_t limit =
        operands.counts.tokens_max > 0 ? operands.counts.tokens_max : plan_->tokens_max;
    GroupTable table{.entries = table_.entries(),
                     .token_counts = on_device ? operands.counts.counts : table_.counts(),
                     .token_limit = static_cast<u32>(limit),
                     .counts_known = on_device ? 0u : 1u};
    if (backend::rows_follow(operands)) {
      table.rows = rows_table(operands.rows, plan_->problem.groups.front());
    }
    return table;
  }

  void launch_all(const Stream& stream, const RowsTable* rows) const {
    if (pool_ == nullptr) {
      for (const Step& step : steps_) step.launch(stream, rows);
      return;
    }
    // All groups wait for a prologue, and no group for another one.
    const std::size_t prologues = plan_->gemm.images ? 1 : 0;
    for (std::size_t i = 0; i < prologues; ++i) steps_[i].launch(stream, rows);
    events_.front().record(stream);
    for (const Stream& other : *pool_) other.wait(events_.front());
    for (std::size_t i = prologues; i < steps_.size(); ++i) {
      steps_[i].launch((*pool_)[steps_[i].lane % pool_->size()], rows);
    }
    for (std::size_t i = 0; i < pool_->size(); ++i) {
      events_[i + 1].record((*pool_)[i]);
      stream.wait(events_[i + 1]);
    }
  }

  std::shared_ptr<Context> context_;
  std::shared_ptr<const GpuPlan> plan_;
  DeviceBuffer maps_;        // of the groups' weights, where kernels copy by them
  CallTable table_;          // what the kernels read of the groups, and their counters
  std::vector<Step> steps_;  // a prologue first
  std::shared_ptr<const StreamPool> pool_;  // null: everything on the caller's stream
  std::vector<Event> events_;               // the fork's, then one per stream of the pool
  std::optional<Graph> graph_;
};

backend::Ceilings to_ceilings(std::string title, const GpuCeilings& measured) {
  backend::Ceilings ceilings{
      .title = std::move(title),
      .rates = machine_rates(measured),
      .text = fmt::format("(measured): read {:.0f} GB/s, fp16 {:.0f} TFLOP/s, bf16 {:.0f}",
                          measured.read_gb_per_s, measured.fp16_gop_per_s / 1e3,
                          measured.bf16_gop_per_s / 1e3),
      .values = {{"read_gb_per_s", measured.read_gb_per_s},
                 {"fp16_gop_per_s", measured.fp16_gop_per_s},
                 {"bf16_gop_per_s", measured.bf16_gop_per_s}}};
  if (measured.nvfp4_gop_per_s > 0) {
    ceilings.text += fmt::format(", NVFP4 {:.0f}", measured.nvfp4_gop_per_s / 1e3);
    ceilings.values.emplace_back("nvfp4_gop_per_s", measured.nvfp4_gop_per_s);
  } else if (ceilings.rates.nvfp4_gop_per_s > ceilings.rates.fp16_gop_per_s) {
    ceilings.text += fmt::format("; NVFP4 {:.0f} by a published ratio, not measured",
                                 ceilings.rates.nvfp4_gop_per_s / 1e3);
  }
  return ceilings;
}

class GemmDevice : public GpuDevice {
 public:
  GemmDevice(const Backend& backend, Gpu open, std::string name, KernelsOf kernels)
      : GpuDevice(backend, std::move(open), std::move(name)),
        recorder_(gpu().device),
        architecture_(architecture_of(gpu(), kernels)) {
    auto pool = std::make_shared<StreamPool>();
    for (std::size_t i = 0; i < kPoolStreams; ++i) pool->emplace_back(gpu().device);
    pool_ = std::move(pool);
    const DeviceProperties& device = gpu().device.properties();
    machine_.thread_count = 0;
    machine_.limits = {
        .compute_capability = kernels == KernelsOf::kAmpere
                                  ? kComputeCapabilityMin
                                  : device.compute_major * 10 + device.compute_minor,
        .sm_count = device.sm_count,
        .shared_bytes_per_block = static_cast<std::int64_t>(device.shared_bytes_per_block_max),
        .shared_bytes_per_sm = static_cast<std::int64_t>(device.shared_bytes_per_sm)};
  }

  const Machine& machine() const override { return machine_; }
  std::optional<SmLimits> limits() const override { return machine_.limits; }

  backend::Ceilings measure_ceilings(double seconds) const override {
    return to_ceilings(description(),
                       gpu::measure_ceilings(gpu().device, gpu().compiler, gpu().cache, seconds));
  }

  std::shared_ptr<backend::Weights> pack(const WeightMatrices& matrices) const override {
    auto weights = std::make_shared<GpuWeights>();
    weights->form = packed_form(matrices, machine_.limits);
    const std::size_t bytes = packed_bytes(weights->form);
    weights->buffer = DeviceBuffer(gpu().device, bytes);
    // Kept for the next ones: memory that is new costs more than packing.
    const std::lock_guard turn(packing_turn_);
    packed_.resize(std::max(packed_.size(), bytes));
    const std::span<std::uint8_t> packed = std::span(packed_).first(bytes);
    gpu::pack(weights->form, matrices, packed);
    weights->buffer.copy_in(std::as_bytes(packed));
    return weights;
  }

  std::shared_ptr<backend::Weights> duplicate(const backend::Weights& weights) const override {
    const auto& from = static_cast<const GpuWeights&>(weights);
    auto copy = std::make_shared<GpuWeights>();
    copy->form = from.form;
    copy->buffer = DeviceBuffer(gpu().device, from.buffer.bytes());
    copy->buffer.enqueue_copy_from(recorder_, from.buffer);
    recorder_.synchronize();
    return copy;
  }

  std::string why_not_weights(const backend::Weights& weights,
                              Activations activations) const override {
    return why_not_form(static_cast<const GpuWeights&>(weights).form, activations, machine_.limits);
  }

  bool runs(std::string_view variant) const override {
    return why_not_here(variant, machine_.limits).empty();
  }

  std::size_t activation_alignment(Activations activations) const override {
    return gpu::activation_alignment(activations);
  }

  std::shared_ptr<backend::Plan> plan(const Problem& problem, std::string_view variant,
                                      std::int64_t tokens_max) const override {
    auto plan = std::make_shared<GpuPlan>();
    plan->knobs = variant_from_name(variant);
    plan->gemm = plan_of(plan->knobs, problem, tokens_max, machine_.limits);
    plan->workspace_bytes = plan->gemm.workspace.bytes;
    KernelMaker maker(gpu(), architecture_, *plan);
    for (const KernelText& text : kernel_texts(plan->gemm)) maker.add(text);
    plan->kernel_launch_count = plan->knobs.graph ? 0 : launch_count(plan->gemm);
    plan->graph_launch_count = plan->knobs.graph ? 1 : 0;
    return plan;
  }

  void prepare(const Problem& problem, std::string_view variant,
               std::int64_t tokens_max) const override {
    if (!gpu().cache.keeps()) return;
    const GemmPlan plan = plan_of(variant_from_name(variant), problem, tokens_max, machine_.limits);
    std::set<std::string> seen;
    for (const KernelText& text : kernel_texts(plan)) {
      if (seen.insert(text.source).second) compiled(gpu(), text, architecture_);
    }
  }

  std::unique_ptr<backend::Call> bind(std::shared_ptr<const backend::Plan> plan,
                                      const Operands& operands,
                                      const backend::Buffer& workspace) const override {
    return std::make_unique<GpuCall>(gpu().device, recorder_, pool_,
                                     std::static_pointer_cast<const GpuPlan>(std::move(plan)),
                                     operands, static_cast<std::uint8_t*>(workspace.data()));
  }

  std::unique_ptr<backend::LayerSteps> layer_steps(
      const backend::LayerShape& shape, const backend::LayerMemory& memory) const override {
    return gpu::layer_steps(gpu(), machine_.limits, shape, memory);
  }

 private:
  Machine machine_;
  Stream recorder_;           // for recording graphs
  std::string architecture_;  // that its kernels are compiled for
  mutable std::mutex packing_turn_;
  mutable std::vector<std::uint8_t> packed_;
  std::shared_ptr<const StreamPool> pool_;
};

}  // namespace

std::unique_ptr<backend::Device> open_device(const Backend& backend, Gpu gpu, std::string name,
                                             KernelsOf kernels) {
  return std::make_unique<GemmDevice>(backend, std::move(gpu), std::move(name), kernels);
}

}  // namespace thresher::gpu
