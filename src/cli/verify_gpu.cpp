// SPDX-License-Identifier: Apache-2.0
// verify on a GPU: every variant with the group sizes known to the host and in device memory, and
// the emulator beside it, which must give the same bits where sums are exact.
#include "cli/backend_option.hpp"
#include "cli/gpu_problem.hpp"
#include "cli/verify_backend.hpp"
#include "gpu/engine/state.hpp"
#include "gpu/sm90/choose.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kHostSizes = "sizes on the host";
constexpr const char* kDeviceSizes = "sizes on the device";
// A plan for device sizes knows a limit only; it is larger than what comes.
constexpr std::int64_t kTokensSpare = 37;
constexpr const char* kEmulated = "emulator";
// Multiply-adds that the emulator may take: about a second.
constexpr std::int64_t kEmulatedStepsMax = std::int64_t{1} << 23;

std::int64_t steps(const Problem& problem) {
  std::int64_t sum = 0;
  for (const Group& group : problem.groups) sum += group.m * group.n * group.k;
  return sum;
}

class OnGpu : public VerifiedProblem {
 public:
  OnGpu(const GpuEngine& engine, const Problem& problem, const Inputs& inputs,
        std::unique_ptr<VerifiedProblem> emulated)
      : engine_(engine),
        problem_(problem),
        memory_(engine, problem, inputs),
        emulated_(std::move(emulated)) {}

  void run(const Runner& runner, const GuardedOutputs& outputs) override {
    if (runner.way == kEmulated) return emulated_->run(runner, outputs);
    const gpu::Device& device = engine_.state().device;
    const DeviceOutputs device_outputs(device, outputs);
    device_outputs.copy_in();
    const std::int64_t tokens = token_count(problem_);
    const bool on_device = runner.way == kDeviceSizes;
    const GpuPlan plan =
        engine_.plan(problem_, runner.variant, on_device ? tokens + kTokensSpare : 0);
    const GpuWorkspace workspace = engine_.workspace(plan);
    std::vector<std::uint32_t> sizes;
    for (const Group& group : problem_.groups) sizes.push_back(static_cast<std::uint32_t>(group.m));
    gpu::DeviceBuffer device_sizes(device, sizes.size() * sizeof(std::uint32_t));
    device_sizes.copy_in(gpu::bytes_of(sizes));
    const DeviceTokenCounts counts{.counts = device_sizes.pointer<std::uint32_t>(),
                                   .tokens_max = tokens + kTokensSpare};
    const GpuCall call = engine_.bind(plan, operands(device_outputs, on_device), workspace,
                                      on_device ? counts : DeviceTokenCounts{});
    const gpu::Stream stream(device);
    // Twice: a call must leave its workspace and counters as it found them.
    for (int i = 0; i < 2; ++i) call.enqueue(stream.handle());
    stream.synchronize();
    device_outputs.copy_out();
  }

 private:
  // Groups without rows have no memory, and with sizes on the device they might get some.
  std::vector<GpuGroupOperands> operands(const DeviceOutputs& outputs, bool on_device) const {
    std::vector<GpuGroupOperands> operands = memory_.operands(outputs);
    if (!on_device) return operands;
    const GpuGroupOperands* full = nullptr;
    for (const GpuGroupOperands& one : operands) {
      if (one.c != nullptr) full = &one;
    }
    for (GpuGroupOperands& one : operands) {
      if (one.c != nullptr || full == nullptr) continue;
      one.a_codes = full->a_codes;
      one.a_scales = full->a_scales;
      one.a16 = full->a16;
      one.c = full->c;
    }
    return operands;
  }

  const GpuEngine& engine_;
  const Problem& problem_;
  GpuProblem memory_;
  std::unique_ptr<VerifiedProblem> emulated_;
};

// With exact sums nothing can differ. Otherwise the same variant's two ways must agree, unless
// where it cuts k depends on how many tokens may come.
std::string twin_set(InputFamily family, const std::string& variant, const char* way) {
  if (family == InputFamily::kExact) return "exact";
  const gpu::sm90::GemmKnobs knobs = gpu::sm90::variant_from_name(variant).knobs;
  return knobs.schedule == gpu::sm90::Schedule::kBalanced ? variant + way : variant;
}

class VerifyGpu : public VerifyBackend {
 public:
  VerifyGpu() : engine_(gpu_engine_options()), emulator_(make_verify_emulator()) {}

  Backend backend() const override { return Backend::kGpu; }
  std::vector<std::string> variants(bool) const override { return engine_.variants(); }
  std::string choice(const Problem& problem) const override {
    return gpu::sm90::name(
        gpu::sm90::choose(problem, token_count(problem), engine_.state().limits));
  }
  void check_variant(const std::string& variant) const override {
    gpu::sm90::variant_from_name(variant);
  }

  std::vector<Runner> runners(const Problem& problem, InputFamily family,
                              const std::string& variant) const override {
    std::vector<Runner> runners;
    for (const char* way : {kHostSizes, kDeviceSizes}) {
      if (way == kDeviceSizes && token_count(problem) == 0) continue;
      runners.push_back(
          {.variant = variant, .way = way, .twin_set = twin_set(family, variant, way)});
    }
    const Runner emulated{.variant = variant, .way = kEmulated, .twin_set = "exact"};
    if (family == InputFamily::kExact && steps(problem) <= kEmulatedStepsMax &&
        emulator_->supports(problem, emulated).ok) {
      runners.push_back(emulated);
    }
    return runners;
  }

  Support supports(const Problem& problem, const Runner& runner) const override {
    return engine_.supports(problem, runner.variant);
  }

  std::unique_ptr<VerifiedProblem> prepare(const Problem& problem,
                                           const Inputs& inputs) const override {
    return std::make_unique<OnGpu>(engine_, problem, inputs, emulator_->prepare(problem, inputs));
  }

 private:
  GpuEngine engine_;
  std::unique_ptr<VerifyBackend> emulator_;
};

}  // namespace

std::unique_ptr<VerifyBackend> make_verify_gpu() { return std::make_unique<VerifyGpu>(); }

}  // namespace thresher::cli
