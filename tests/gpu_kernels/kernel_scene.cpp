// SPDX-License-Identifier: Apache-2.0
#include "gpu_kernels/kernel_scene.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "gpu/pack/weight_tiles.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu::testing {
namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::uint8_t kPoison = 0xff;  // NaN in every output type
constexpr std::uint8_t kGuard = 0xa5;

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

}  // namespace

KernelSet::Gemm KernelSet::gemm(GemmKind kind, const GemmConfig& config) const {
  for (const GemmEntry& entry : gemms_) {
    if (entry.kind == kind && entry.config == config) return entry.kernel;
  }
  throw Error("the test has not instantiated the plan's GEMM kernel");
}

KernelSet::Images KernelSet::images(const ImageConfig& config) const {
  for (const ImagesEntry& entry : images_) {
    if (entry.config == config) return entry.kernel;
  }
  throw Error("the test has not instantiated the plan's prologue");
}

KernelScene::KernelScene(Problem problem, SceneOptions options)
    : problem_(std::move(problem)),
      options_(options),
      inputs_(make_inputs(problem_, options.family, options.seed)) {
  make_outputs();
  upload_groups();
}

template <typename T>
const T* KernelScene::upload(std::span<const T> values, const char* name) {
  const std::size_t bytes = values.size_bytes();
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes) != 0) throw std::bad_alloc();
  std::memcpy(memory, values.data(), bytes);
  uploads_.emplace_back(static_cast<std::uint8_t*>(memory), &std::free);
  memory_.add_read_only(memory, bytes, name);
  return static_cast<const T*>(memory);
}

void KernelScene::make_outputs() {
  for (const Group& group : problem_.groups) {
    if (options_.rows_follow && !outputs_.empty()) {
      outputs_.front().row_count += group.m;
    } else {
      outputs_.push_back({.row_count = group.m,
                          .n = group.n,
                          .stride_elements = group.n + options_.stride_padding});
    }
  }
  // The last row ends with its last element: what lies beyond is no device memory.
  for (OutputBuffer& output : outputs_) {
    if (output.row_count == 0) continue;
    const std::int64_t elements = (output.row_count - 1) * output.stride_elements + output.n;
    const auto bytes = static_cast<std::size_t>(elements * element_bytes());
    output.bytes.resize(bytes + 2 * kGuardBytes);
    const auto start = reinterpret_cast<std::uintptr_t>(output.bytes.data());
    output.first_element = output.bytes.data() + (kGuardBytes - start % kGuardBytes);
    memory_.add(output.first_element, bytes, "C");
  }
}

void KernelScene::upload_groups() {
  std::vector<GroupEntry> entries(problem_.groups.size());
  std::vector<u32> counts;
  upload_activations(entries);
  for (std::size_t g = 0; g < entries.size(); ++g) {
    const Group& group = problem_.groups[g];
    const GroupInputs& inputs = inputs_.groups[g];
    const double a_scale =
        problem_.activations == Activations::kNvfp4 ? inputs.a.global_scale : 1.0;
    GroupEntry& entry = entries[g];
    const std::vector<std::uint8_t> packed = pack(inputs, group, problem_.op);
    if (group.m > 0) {
      entry.weights =
          reinterpret_cast<u64>(upload(std::span<const std::uint8_t>(packed), "packed weights"));
    }
    entry.c = reinterpret_cast<u64>(outputs_[options_.rows_follow ? 0 : g].first_element);
    entry.c_stride_elements = static_cast<u64>(stride_of(g));
    entry.n = static_cast<u32>(group.n);
    entry.k = static_cast<u32>(group.k);
    entry.factor = split_factor(a_scale * inputs.b.global_scale * inputs.alpha);
    entry.factor_up = split_factor(a_scale * inputs.b_up.global_scale * inputs.alpha_up);
    counts.push_back(static_cast<u32>(group.m));
  }
  table_.entries = upload(std::span<const GroupEntry>(entries), "groups");
  table_.token_counts = upload(std::span<const u32>(counts), "token counts");
  table_.token_limit = static_cast<u32>(token_count(problem_) + options_.tokens_spare);
  table_.rows_follow = options_.rows_follow ? 1 : 0;
}

void KernelScene::upload_activations(std::vector<GroupEntry>& entries) {
  std::vector<std::uint8_t> values;
  std::vector<std::uint8_t> scales;
  const auto send = [&] {
    const u64 values_at =
        reinterpret_cast<u64>(upload(std::span<const std::uint8_t>(values), "activations"));
    const u64 scales_at =
        reinterpret_cast<u64>(upload(std::span<const std::uint8_t>(scales), "activation scales"));
    values.clear();
    scales.clear();
    return std::pair(values_at, scales_at);
  };
  for (std::size_t g = 0; g < entries.size(); ++g) {
    const GroupInputs& inputs = inputs_.groups[g];
    const auto* a16 = reinterpret_cast<const std::uint8_t*>(inputs.a16.data());
    values.insert(values.end(), a16, a16 + inputs.a16.size() * sizeof(std::uint16_t));
    values.insert(values.end(), inputs.a.codes.begin(), inputs.a.codes.end());
    scales.insert(scales.end(), inputs.a.scales.begin(), inputs.a.scales.end());
    if (!options_.rows_follow) {
      std::tie(entries[g].activations, entries[g].activation_scales) = send();
    }
  }
  if (!options_.rows_follow) return;
  const auto [values_at, scales_at] = send();
  for (GroupEntry& entry : entries) {
    entry.activations = values_at;
    entry.activation_scales = scales_at;
  }
}

void KernelScene::poison() {
  for (OutputBuffer& output : outputs_) {
    std::memset(output.bytes.data(), kGuard, output.bytes.size());
    for (std::int64_t row = 0; row < output.row_count; ++row) {
      std::memset(output.first_element + row * output.stride_elements * element_bytes(), kPoison,
                  static_cast<std::size_t>(output.n * element_bytes()));
    }
  }
}

void KernelScene::launch(emulator::LaunchOptions options, const std::function<void()>& kernel) {
  options.seed = emulator_seed_++;
  options.memory = &memory_;
  emulator::launch(options, kernel);
}

void KernelScene::run(const GemmKnobs& knobs, const KernelSet& kernels,
                      std::uint64_t emulator_seed) {
  // Few SMs: then blocks walk over several tiles, as on a device with many groups.
  const PlanRequest request{
      .problem = problem_, .token_limit = table_.token_limit, .limits = {.sm_count = 3}};
  if (const std::string reason = why_not(knobs, request); !reason.empty()) throw Error(reason);
  const GemmPlan plan = make_plan(knobs, request);

  poison();
  emulator_seed_ = emulator_seed;
  auto* workspace = static_cast<std::uint8_t*>(memory_.allocate(plan.workspace.bytes, "workspace"));
  std::memset(workspace + plan.workspace.counters, 0, plan.workspace.counter_bytes);

  const auto group_count = static_cast<std::uint32_t>(problem_.groups.size());
  const ImageArgs images = image_args(plan, table_, group_count, workspace);
  const KernelSet::Images image_kernel = kernels.images(plan.images.config);
  launch({.block_count = plan.images.block_count, .thread_count = plan.images.thread_count},
         [&] { image_kernel(images); });
  for (const GemmLaunch& gemm : plan.launches) {
    const GemmArgs args = gemm_args(plan, gemm, table_, workspace);
    const KernelSet::Gemm kernel = kernels.gemm(gemm.kind, gemm.config);
    launch({.block_count = gemm.block_count,
            .thread_count = gemm.thread_count,
            .shared_bytes = gemm.shared_bytes,
            .register_count = gemm.register_count},
           [&] { kernel(args); });
  }

  const std::uint8_t* counters = workspace + plan.workspace.counters;
  counters_zero_ = std::all_of(counters, counters + plan.workspace.counter_bytes,
                               [](std::uint8_t byte) { return byte == 0; });
  memory_.release(workspace);
}

std::int64_t KernelScene::stride_of(std::size_t group) const {
  return outputs_[options_.rows_follow ? 0 : group].stride_elements;
}

const std::uint8_t* KernelScene::row_of(std::size_t group, std::int64_t row) const {
  const OutputBuffer& output = outputs_[options_.rows_follow ? 0 : group];
  if (output.first_element == nullptr) return nullptr;
  if (options_.rows_follow) {
    for (std::size_t g = 0; g < group; ++g) row += problem_.groups[g].m;
  }
  return output.first_element + row * output.stride_elements * element_bytes();
}

Conformance KernelScene::conformance() const {
  std::vector<OutputView> views;
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    views.push_back({.c = row_of(g, 0), .stride_elements = stride_of(g)});
  }
  return check_outputs(problem_, inputs_, views,
                       {.bitwise = compares_bitwise(problem_, options_.family)});
}

bool KernelScene::guards_intact() const {
  for (const OutputBuffer& output : outputs_) {
    std::vector<bool> ours(output.bytes.size(), false);
    for (std::int64_t row = 0; row < output.row_count; ++row) {
      const auto offset = output.first_element - output.bytes.data() +
                          row * output.stride_elements * element_bytes();
      std::fill_n(ours.begin() + offset, output.n * element_bytes(), true);
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (!ours[i] && output.bytes[i] != kGuard) return false;
    }
  }
  return true;
}

std::vector<std::uint8_t> KernelScene::output_bytes() const {
  std::vector<std::uint8_t> bytes;
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    for (std::int64_t row = 0; row < problem_.groups[g].m; ++row) {
      const std::uint8_t* first = row_of(g, row);
      bytes.insert(bytes.end(), first, first + problem_.groups[g].n * element_bytes());
    }
  }
  return bytes;
}

Problem make_problem(std::vector<std::int64_t> m, std::int64_t n, std::int64_t k, Op op,
                     Activations activations, Output output) {
  Problem problem{.name = "test", .op = op, .activations = activations, .output = output};
  for (const std::int64_t rows : m) problem.groups.push_back({.m = rows, .n = n, .k = k});
  return problem;
}

}  // namespace thresher::gpu::testing
