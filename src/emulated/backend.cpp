// SPDX-License-Identifier: Apache-2.0
#include "emulated/backend.hpp"

#include <fmt/format.h>

#include "emulated/device_call.hpp"
#include "emulated/layer_steps.hpp"
#include "emulated/named_kernels.hpp"
#include "emulated/timeline.hpp"
#include "gpu/gemm/operands.hpp"
#include "gpu/gemm/plan_extents.hpp"
#include "gpu/gemm/variant.hpp"
#include "gpu/packed_weights.hpp"
#include "gpu/sm100/choose.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::emulated {
namespace {

bool has_kernels(const gpu::Variant& variant, const Problem& problem, const SmLimits& limits) {
  return named_kernels().has(gpu::plan_of(variant, problem, token_count(problem), limits));
}

Support supports(const Problem& problem, std::string_view variant, const Machine& machine) {
  const gpu::Variant read = gpu::variant_from_name(variant);
  const Support support = gpu::supports(read, problem, machine.limits);
  if (!support.ok) return support;
  if (has_kernels(read, problem, machine.limits)) return support;
  return {.ok = false,
          .why_not =
              "the emulator has no kernel for this variant; use one that 'thresher "
              "variants' names"};
}

// A B200's: the few SMs that are emulated would choose for themselves.
constexpr SmLimits kAllBlackwellSms{.compute_capability = 100, .sm_count = 148};

// Blackwell's is what the engine would choose on a B200. The other choices go beyond what is
// instantiated here: the default then.
std::string choose(const Problem& problem, std::int64_t token_limit, const Machine& machine) {
  if (gpu::is_blackwell(machine.limits) && problem.activations == Activations::kNvfp4) {
    return name(gpu::sm100::choose(problem, token_limit, kAllBlackwellSms));
  }
  const bool few = token_count(problem) <= 16 * static_cast<std::int64_t>(problem.groups.size());
  if (gpu::is_hopper(machine.limits)) return few ? "gpu_sm90:tokens=16,stages=6" : "gpu_sm90";
  return few ? "gpu_sm80:tokens=16,stages=6" : "gpu_sm80";
}

// The devices that can be emulated, by what follows "emulator:". Without that it is the first.
struct Emulated {
  std::string_view name;
  std::string_view description;
  SmLimits limits;
  emulator::TensorSums tensor_sums = emulator::TensorSums::kInOrder;
};

// Enough for two pairs of blocks.
constexpr SmLimits kFewBlackwellSms{.compute_capability = 100, .sm_count = 4};

// Of all GPUs that run the kernels for warps the one with the least shared memory, sm_86. Blackwell
// adds as published models say, or in order, so that both can be held to the bound.
constexpr Emulated kEmulated[] = {
    {"sm90", "sm_90a", kFewSms},
    {"sm80",
     "sm_80",
     {.compute_capability = 80,
      .sm_count = kFewSms.sm_count,
      .shared_bytes_per_block = 99 << 10,
      .shared_bytes_per_sm = 100 << 10}},
    {"sm100", "sm_100a", kFewBlackwellSms, emulator::TensorSums::kAligned},
    {"sm100_in_order", "sm_100a that adds in order", kFewBlackwellSms},
};

const Emulated* find_emulated(std::string_view device) {
  const std::size_t colon = device.find(':');
  if (colon == std::string_view::npos) return &kEmulated[0];
  for (const Emulated& one : kEmulated) {
    if (one.name == device.substr(colon + 1)) return &one;
  }
  return nullptr;
}

std::string why_not_device(const EngineOptions& options) {
  if (find_emulated(options.device) != nullptr) return {};
  return fmt::format(
      "there is no device '{}'; the emulator has emulator:sm90, emulator:sm80, emulator:sm100 "
      "and emulator:sm100_in_order",
      options.device);
}

struct HostWeights : backend::Weights {
  std::size_t bytes() const override { return packed.size(); }
  const void* data() const override { return packed.data(); }
  Nvfp4Matrix unpack(int matrix) const override {
    Nvfp4Matrix unpacked = gpu::unpack(form, packed, matrix);
    unpacked.global_scale = matrix == 0 ? global_scale : global_scale_up;
    return unpacked;
  }

  gpu::PackedForm form;
  std::vector<std::uint8_t> packed;
};

struct EmulatedPlan : backend::Plan {
  gpu::GemmPlan gemm;
  gpu::Launches launches = gpu::Launches::kGrouped;
};

// Aligned as a driver's allocations are.
class AlignedBuffer : public backend::HostBuffer {
 public:
  AlignedBuffer(AlignedBytes memory, std::size_t bytes)
      : HostBuffer(std::as_writable_bytes(std::span(memory.get(), bytes))),
        memory_(std::move(memory)) {}

 private:
  AlignedBytes memory_;
};

// Computes at once when it is queued.
class EmulatedCall : public backend::Call {
 public:
  EmulatedCall(std::shared_ptr<const EmulatedPlan> plan, const Operands& operands,
               const backend::Buffer& workspace, std::shared_ptr<Timeline> timeline,
               const CallRun& run)
      : plan_(std::move(plan)),
        groups_(operands.groups.begin(), operands.groups.end()),
        operands_(operands),
        memory_(plan_->gemm, static_cast<std::uint8_t*>(workspace.data())),
        timeline_(std::move(timeline)),
        run_(run) {
    run_.launches = plan_->launches;
    operands_.groups = groups_;
  }

  void enqueue(const Rows* rows, void*) const override {
    Operands operands = operands_;
    if (rows != nullptr) operands.rows = *rows;
    timeline_->run([&](emulator::GlobalHistory& history) {
      CallRun run = run_;
      run.history = &history;
      DeviceCall(plan_->problem, operands, plan_->tokens_max, weights_by_map(plan_->gemm))
          .run(plan_->gemm, named_kernels(), memory_, run);
    });
  }

 private:
  const std::shared_ptr<const EmulatedPlan> plan_;
  const std::vector<GroupOperands> groups_;
  Operands operands_;
  const CallMemory memory_;
  const std::shared_ptr<Timeline> timeline_;
  CallRun run_;
};

class EmulatedDevice : public backend::Device {
 public:
  explicit EmulatedDevice(const EngineOptions& options)
      : Device(emulated_backend(), options.device),
        emulated_(*find_emulated(options.device)),
        seed_(options.emulator_seed) {
    machine_.limits = emulated_.limits;
  }

  std::string description() const override {
    return fmt::format("emulator of {}, {} SMs", emulated_.description, machine_.limits.sm_count);
  }
  const Machine& machine() const override { return machine_; }
  std::optional<SmLimits> limits() const override { return machine_.limits; }
  backend::Ceilings measure_ceilings(double) const override {
    throw Error("the emulator has no speed: measure on a GPU or on the CPU");
  }

  std::unique_ptr<backend::Buffer> allocate(std::size_t bytes) const override {
    return std::make_unique<AlignedBuffer>(allocate_aligned(bytes), bytes);
  }
  void synchronize() const override { timeline_->synchronize(); }

  std::shared_ptr<backend::Weights> pack(const WeightMatrices& matrices) const override {
    auto weights = std::make_shared<HostWeights>();
    weights->form = gpu::packed_form(matrices, machine_.limits);
    weights->packed.resize(gpu::packed_bytes(weights->form));
    gpu::pack(weights->form, matrices, weights->packed);
    return weights;
  }
  std::shared_ptr<backend::Weights> duplicate(const backend::Weights& weights) const override {
    return std::make_shared<HostWeights>(static_cast<const HostWeights&>(weights));
  }
  std::string why_not_weights(const backend::Weights& weights,
                              Activations activations) const override {
    return gpu::why_not_form(static_cast<const HostWeights&>(weights).form, activations,
                             machine_.limits);
  }

  bool runs(std::string_view variant) const override {
    return gpu::why_not_here(variant, machine_.limits).empty();
  }

  std::size_t activation_alignment(Activations activations) const override {
    return gpu::activation_alignment(activations);
  }

  std::shared_ptr<backend::Plan> plan(const Problem& problem, std::string_view variant,
                                      std::int64_t tokens_max) const override {
    auto plan = std::make_shared<EmulatedPlan>();
    const gpu::Variant read = gpu::variant_from_name(variant);
    plan->gemm = gpu::plan_of(read, problem, tokens_max, machine_.limits);
    plan->launches = read.knobs.launches;
    plan->workspace_bytes = plan->gemm.workspace.bytes;
    plan->kernel_launch_count = gpu::launch_count(plan->gemm);
    return plan;
  }

  std::unique_ptr<backend::Call> bind(std::shared_ptr<const backend::Plan> plan,
                                      const Operands& operands,
                                      const backend::Buffer& workspace) const override {
    timeline_->synchronize();  // memory of the call is new, whatever was there before
    return std::make_unique<EmulatedCall>(
        std::static_pointer_cast<const EmulatedPlan>(std::move(plan)), operands, workspace,
        timeline_, CallRun{.seed = seed_, .tensor_sums = emulated_.tensor_sums});
  }

  Timeline& timeline() const { return *timeline_; }

  std::unique_ptr<backend::LayerSteps> layer_steps(
      const backend::LayerShape& shape, const backend::LayerMemory& memory) const override {
    return emulated::layer_steps(shape, memory, machine_.limits, timeline_, seed_);
  }

 private:
  const Emulated& emulated_;
  Machine machine_;
  const std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
  const std::uint64_t seed_;
};

}  // namespace

Timeline& timeline_of(const backend::Device& device) {
  return static_cast<const EmulatedDevice&>(device).timeline();
}

const Backend& emulated_backend() {
  static const Backend backend = [] {
    Backend row = gpu::variants_row(gpu::Mma::kWarpgroup);
    row.name = "emulator";
    row.numbered = true;
    row.title = "emulator";
    row.choose = choose;
    row.supports = supports;
    row.checks = {.cases_at_a_time = 0, .orders = 2, .witness = "cpu"};
    row.report = [](const EngineOptions&) { return std::vector<ReportLine>(); };
    row.device_name = row.machine_class = [] { return std::string("emulator"); };
    row.why_not = why_not_device;
    row.open = [](const EngineOptions& options) -> std::unique_ptr<backend::Device> {
      return std::make_unique<EmulatedDevice>(options);
    };
    return row;
  }();
  return backend;
}

}  // namespace thresher::emulated
