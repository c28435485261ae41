// SPDX-License-Identifier: Apache-2.0
#include "gpu_kernels/device_scene.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/graph.hpp"
#include "gpu/kernel_source.hpp"
#include "gpu/kernels/entry_source.hpp"
#include "gpu/pack/weight_tiles.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu::testing {
namespace {

constexpr std::int64_t kAllElementsMax = std::int64_t{1} << 28;  // multiply-adds of the oracle
constexpr std::int64_t kSampleCount = 3000;
constexpr std::size_t kCallsPerGraphMin = 20;
constexpr int kTrials = 7;

std::vector<std::uint8_t> pack(const GroupInputs& inputs, const Group& group, Op op) {
  const WeightTiles tiles{.op = op, .n = group.n, .k_elements = group.k};
  std::vector<std::uint8_t> packed(tiles.bytes());
  if (op == Op::kDual) {
    pack_dual_weights(inputs.b.view(), inputs.b_up.view(), packed);
  } else {
    pack_weights(inputs.b.view(), packed);
  }
  return packed;
}

std::int64_t multiply_adds(const Problem& problem) {
  std::int64_t sum = 0;
  for (const Group& group : problem.groups) sum += group.m * group.n * group.k;
  return sum;
}

DeviceLimits limits_of(const DeviceProperties& properties) {
  return {
      .sm_count = properties.sm_count,
      .shared_bytes_per_block = static_cast<std::int64_t>(properties.shared_bytes_per_block_max),
      .shared_bytes_per_sm = static_cast<std::int64_t>(properties.shared_bytes_per_sm)};
}

unsigned count(int value) { return static_cast<unsigned>(value); }

}  // namespace

DeviceScene::DeviceScene(const Bench& bench, Problem problem, InputFamily family,
                         std::size_t copy_count)
    : bench_(bench),
      problem_(std::move(problem)),
      family_(family),
      inputs_(make_inputs(problem_, family, 7)) {
  std::vector<std::vector<std::uint8_t>> packed;
  std::vector<u32> token_counts;
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    packed.push_back(pack(inputs_.groups[g], problem_.groups[g], problem_.op));
    token_counts.push_back(static_cast<u32>(problem_.groups[g].m));
  }
  for (std::size_t copy = 0; copy < copy_count; ++copy) {
    std::vector<GroupEntry> entries;
    for (std::size_t g = 0; g < packed.size(); ++g) entries.push_back(make_entry(g, packed[g]));
    tables_.push_back({.entries = reinterpret_cast<const GroupEntry*>(upload(entries)),
                       .token_counts = reinterpret_cast<const u32*>(upload(token_counts)),
                       .token_limit = static_cast<u32>(token_count(problem_))});
  }
}

template <typename Range>
u64 DeviceScene::upload(const Range& values) {
  if (values.empty()) return 0;
  buffers_.emplace_back(bench_.device, bytes_of(values).size());
  buffers_.back().copy_in(bytes_of(values));
  return buffers_.back().address();
}

GroupEntry DeviceScene::make_entry(std::size_t g, const std::vector<std::uint8_t>& packed) {
  const Group& group = problem_.groups[g];
  const GroupInputs& inputs = inputs_.groups[g];
  const bool is_nvfp4 = problem_.activations == Activations::kNvfp4;
  const double a_scale = is_nvfp4 ? inputs.a.global_scale : 1.0;
  const std::int64_t bytes = group.m * group.n * bytes_per_element(problem_.output);
  outputs_.emplace_back(bench_.device, static_cast<std::size_t>(bytes));
  return {.weights = upload(packed),
          .c = outputs_.back().address(),
          .activations = is_nvfp4 ? upload(inputs.a.codes) : upload(inputs.a16),
          .activation_scales = is_nvfp4 ? upload(inputs.a.scales) : 0,
          .c_stride_elements = static_cast<u64>(group.n),
          .n = static_cast<u32>(group.n),
          .k = static_cast<u32>(group.k),
          .factor = split_factor(a_scale * inputs.b.global_scale * inputs.alpha),
          .factor_up = split_factor(a_scale * inputs.b_up.global_scale * inputs.alpha_up)};
}

void DeviceScene::poison() const {
  for (const DeviceBuffer& output : outputs_) {
    if (output.bytes() > 0) output.fill(std::byte{0xff});  // NaN in every output type
  }
}

Conformance DeviceScene::conformance() const {
  std::vector<std::vector<std::uint8_t>> host;
  std::vector<OutputView> views;
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    std::vector<std::uint8_t>& bytes = host.emplace_back(outputs_[g].bytes());
    if (!bytes.empty()) outputs_[g].copy_out(bytes_of(bytes));
    views.push_back(
        {.c = bytes.empty() ? nullptr : bytes.data(), .stride_elements = problem_.groups[g].n});
  }
  const bool large = multiply_adds(problem_) > kAllElementsMax;
  return check_outputs(problem_, inputs_, views,
                       {.bitwise = compares_bitwise(problem_, family_),
                        .sample_count = large ? kSampleCount : 0,
                        .seed = 5});
}

ReadyKernels::ReadyKernels(const Bench& bench, const Problem& problem, const GemmKnobs& knobs)
    : bench_(bench) {
  const PlanRequest request{.problem = problem,
                            .token_limit = token_count(problem),
                            .limits = limits_of(bench.device.properties())};
  if (const std::string reason = why_not(knobs, request); !reason.empty()) throw Error(reason);
  plan_ = make_plan(knobs, request);
  workspace_ = DeviceBuffer(bench.device, std::max<std::size_t>(plan_.workspace.bytes, 256));
  workspace_.fill(std::byte{0});  // the counters
  kernels_.push_back(compile(entry_source(plan_.images), 0));
  for (const GemmLaunch& launch : plan_.launches) {
    kernels_.push_back(compile(entry_source(launch), launch.shared_bytes));
  }
}

Kernel ReadyKernels::compile(const std::string& source, std::size_t shared_bytes) {
  const Compilation compilation =
      bench_.cache.get(bench_.compiler,
                       {.name = "entry.cu",
                        .source = source,
                        .headers = headers_of(source, kernel_sources()),
                        .architecture = bench_.device.properties().architecture()},
                       0);
  for (const KernelResources& one : compilation.kernels) {
    resources_ +=
        fmt::format(" {} registers{};", one.register_count, one.spills() ? ", SPILLS" : "");
  }
  for (const std::string& note : compilation.notes) resources_ += fmt::format(" {};", note);
  Kernel kernel = Module(bench_.device, compilation.cubin, "entry").kernel(kEntryName);
  constexpr std::size_t kSharedBytesUnasked = 48 << 10;
  if (shared_bytes > kSharedBytesUnasked) kernel.allow_shared_bytes(shared_bytes);
  return kernel;
}

void ReadyKernels::enqueue(const DeviceScene& scene, std::size_t copy) const {
  const GroupTable& table = scene.table(copy);
  const auto group_count = static_cast<u32>(scene.problem().groups.size());
  auto* workspace = workspace_.pointer<std::uint8_t>();
  kernels_[0].launch(
      bench_.stream,
      {.grid = {count(plan_.images.block_count)}, .block = {count(plan_.images.thread_count)}},
      image_args(plan_, table, group_count, workspace));
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
    const GemmLaunch& launch = plan_.launches[i];
    kernels_[i + 1].launch(bench_.stream,
                           {.grid = {count(launch.block_count)},
                            .block = {count(launch.thread_count)},
                            .shared_bytes = launch.shared_bytes,
                            .dependent = true},
                           gemm_args(plan_, launch, table, workspace));
  }
}

double ReadyKernels::call_us(const DeviceScene& scene) const {
  const std::size_t calls = std::max(scene.copy_count(), kCallsPerGraphMin);
  const Graph graph = Graph::capture(bench_.stream, [&] {
    for (std::size_t i = 0; i < calls; ++i) enqueue(scene, i % scene.copy_count());
  });
  graph.launch(bench_.stream);
  const Event begin(bench_.device);
  const Event end(bench_.device);
  std::vector<double> us;
  for (int trial = 0; trial < kTrials; ++trial) {
    begin.record(bench_.stream);
    graph.launch(bench_.stream);
    end.record(bench_.stream);
    end.synchronize();
    us.push_back(microseconds_between(begin, end) / static_cast<double>(calls));
  }
  std::sort(us.begin(), us.end());
  return us[us.size() / 2];
}

}  // namespace thresher::gpu::testing
