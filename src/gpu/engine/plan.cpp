// SPDX-License-Identifier: Apache-2.0
// From a problem and a variant to compiled kernels.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gpu/engine/state.hpp"
#include "gpu/runtime/kernel_source.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/sm90/entry_source.hpp"

namespace thresher {
namespace {

// A launch gets as much without asking.
constexpr std::size_t kSharedBytesUnasked = 48 << 10;

// Compiles each distinct kernel of a plan once.
class KernelMaker {
 public:
  KernelMaker(const GpuEngine::State& engine, GpuPlan::State& plan)
      : engine_(engine), plan_(plan) {}

  void add(const gpu::sm90::ImageLaunch& launch) {
    add(gpu::sm90::entry_source(launch),
        {.name = "images", .block_count = launch.block_count, .thread_count = launch.thread_count});
  }

  void add(const gpu::sm90::GemmLaunch& launch) {
    add(gpu::sm90::entry_source(launch), {.name = name_of(launch),
                                          .shared_bytes = launch.shared_bytes,
                                          .block_count = launch.block_count,
                                          .thread_count = launch.thread_count});
  }

 private:
  static std::string name_of(const gpu::sm90::GemmLaunch& launch) {
    switch (launch.config.product) {
      case gpu::sm90::Product::kGemm:
        return "gemm";
      case gpu::sm90::Product::kDual:
        return "dual";
      case gpu::sm90::Product::kGatePass:
        return "gate";
      case gpu::sm90::Product::kUpPass:
        break;
    }
    return "up";
  }

  void add(const std::string& source, GpuKernelReport report) {
    const auto [found, is_new] = index_of_.emplace(source, plan_.kernels.size());
    if (is_new) compile(source, std::move(report));
    plan_.kernel_of_launch.push_back(found->second);
  }

  void compile(const std::string& source, GpuKernelReport report) {
    const gpu::Compilation compilation =
        engine_.cache.get(engine_.compiler,
                          {.name = report.name + ".cu",
                           .source = source,
                           .headers = gpu::headers_of(source, kKernelSources),
                           .architecture = engine_.device.properties().architecture()},
                          engine_.driver_version);
    for (const gpu::KernelResources& one : compilation.kernels) {
      report.register_count = one.register_count;
      report.spill_bytes = static_cast<std::size_t>(one.spill_store_bytes.value_or(0) +
                                                    one.spill_load_bytes.value_or(0));
    }
    gpu::Kernel kernel =
        gpu::Module(engine_.device, compilation.cubin, report.name).kernel(gpu::sm90::kEntryName);
    if (report.shared_bytes > kSharedBytesUnasked) kernel.allow_shared_bytes(report.shared_bytes);
    if (report.shared_bytes == 0) kernel.leave_shared_memory();
    plan_.kernels.push_back(std::move(kernel));
    plan_.reports.push_back(std::move(report));
  }

  const GpuEngine::State& engine_;
  GpuPlan::State& plan_;
  std::map<std::string, std::size_t> index_of_;
};

}  // namespace

std::vector<std::string> GpuEngine::variants() const {
  std::vector<std::string> names;
  for (const gpu::sm90::Variant& variant : gpu::sm90::named_variants())
    names.push_back(gpu::sm90::name(variant));
  return names;
}

Support GpuEngine::supports(const Problem& problem, std::string_view variant) const {
  thresher::check(problem);
  return gpu::sm90::supports(gpu::sm90::variant_from_name(variant), problem, state_->limits);
}

GpuPlan GpuEngine::plan(const Problem& problem, std::string_view variant,
                        std::int64_t tokens_max) const {
  thresher::check(problem);
  const std::int64_t tokens = std::max(tokens_max, gpu::sm90::token_count(problem));
  const gpu::sm90::PlanRequest request{problem, tokens, state_->limits};
  auto plan = std::make_shared<GpuPlan::State>();
  plan->problem = problem;
  plan->variant = variant.empty() ? gpu::sm90::choose(problem, tokens, state_->limits)
                                  : gpu::sm90::variant_from_name(variant);
  plan->variant_name = gpu::sm90::name(plan->variant);
  if (const std::string why = gpu::sm90::why_not(plan->variant.knobs, request); !why.empty()) {
    throw Error(fmt::format("variant '{}' cannot run problem '{}': {}", plan->variant_name,
                            problem.name, why));
  }
  plan->plan = gpu::sm90::make_plan(plan->variant.knobs, request);
  KernelMaker maker(*state_, *plan);
  if (plan->plan.images) maker.add(*plan->plan.images);
  for (const gpu::sm90::GemmLaunch& launch : plan->plan.launches) maker.add(launch);
  return GpuPlan(std::move(plan));
}

GpuWorkspace GpuEngine::workspace(const GpuPlan& plan) const {
  return GpuWorkspace(std::make_unique<GpuWorkspace::State>(
      GpuWorkspace::State{gpu::DeviceBuffer(state_->device, plan.workspace_bytes())}));
}

const Problem& GpuPlan::problem() const { return state_->problem; }
const std::string& GpuPlan::variant() const { return state_->variant_name; }
std::size_t GpuPlan::workspace_bytes() const { return state_->plan.workspace.bytes; }
std::int64_t GpuPlan::kernel_count() const {
  return static_cast<std::int64_t>(state_->kernel_of_launch.size());
}
std::vector<GpuKernelReport> GpuPlan::kernels() const { return state_->reports; }

GpuWorkspace::GpuWorkspace(std::unique_ptr<State> state) : state_(std::move(state)) {}
GpuWorkspace::GpuWorkspace(GpuWorkspace&&) noexcept = default;
GpuWorkspace& GpuWorkspace::operator=(GpuWorkspace&&) noexcept = default;
GpuWorkspace::~GpuWorkspace() = default;
std::size_t GpuWorkspace::bytes() const { return state_->buffer.bytes(); }

}  // namespace thresher
