// SPDX-License-Identifier: Apache-2.0
#include "emulated/device_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>

#include "assert.hpp"
#include "emulator/launch.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated {
namespace {

constexpr std::size_t kAlignmentBytes = 256;  // as a driver's allocations

gpu::u64 as_address(const void* pointer) { return reinterpret_cast<gpu::u64>(pointer); }

std::int64_t stride_of(const HostOperands& operands, const Group& group) {
  return operands.c_stride_elements == 0 ? group.n : operands.c_stride_elements;
}

void append(std::vector<std::uint8_t>& bytes, const void* first, std::int64_t byte_count) {
  const auto* begin = static_cast<const std::uint8_t*>(first);
  if (byte_count > 0) bytes.insert(bytes.end(), begin, begin + byte_count);
}

void in_launch(const std::string& which, const emulator::LaunchOptions& options,
               const std::function<void()>& kernel) {
  try {
    emulator::launch(options, kernel);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", which, error.what()));
  }
}

}  // namespace

DeviceCall::DeviceCall(const Problem& problem, Operands operands, const CallLayout& layout)
    : problem_(problem) {
  const std::span<const Group> groups(problem.groups);
  THRESHER_ASSERT(operands.size() == groups.size());
  std::vector<gpu::sm90::GroupEntry> entries(groups.size());
  std::vector<gpu::u32> counts;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    entries[g].n = static_cast<gpu::u32>(groups[g].n);
    entries[g].k = static_cast<gpu::u32>(groups[g].k);
    counts.push_back(static_cast<gpu::u32>(groups[g].m));
  }
  const std::size_t step = layout.rows_follow ? groups.size() : 1;
  for (std::size_t g = 0; g < groups.size(); g += step) {
    add_rows(operands.subspan(g, step), groups.subspan(g, step),
             std::span(entries).subspan(g, step));
  }
  add_weights(operands, entries);
  table_.entries = upload(std::span<const gpu::sm90::GroupEntry>(entries), "groups");
  table_.token_counts = upload(std::span<const gpu::u32>(counts), "token counts");
  table_.token_limit = static_cast<gpu::u32>(gpu::sm90::token_count(problem) + layout.tokens_spare);
  table_.rows_follow = layout.rows_follow ? 1 : 0;
}

template <typename T>
const T* DeviceCall::upload(std::span<const T> values, const char* name) {
  const std::size_t bytes = values.size_bytes();
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignmentBytes, bytes) != 0) throw std::bad_alloc();
  uploads_.emplace_back(static_cast<std::uint8_t*>(memory), &std::free);
  std::memcpy(memory, values.data(), bytes);
  memory_.add_read_only(memory, bytes, name);
  return static_cast<const T*>(memory);
}

void DeviceCall::add_rows(Operands operands, std::span<const Group> groups,
                          std::span<gpu::sm90::GroupEntry> entries) {
  std::vector<std::uint8_t> values;
  std::vector<std::uint8_t> scales;
  std::int64_t row_count = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::int64_t elements = groups[g].m * groups[g].k;
    row_count += groups[g].m;
    if (problem_.activations == Activations::kNvfp4) {
      append(values, operands[g].a.codes, elements / 2);
      append(scales, operands[g].a.scales, elements / kBlockElements);
    } else {
      append(values, operands[g].a16, elements * 2);
    }
  }
  if (row_count == 0) return;

  // The last row ends with its last element: what lies beyond is no device memory.
  const std::int64_t stride = stride_of(operands.front(), groups.front());
  const std::int64_t c_elements = (row_count - 1) * stride + groups.front().n;
  memory_.add(operands.front().c,
              static_cast<std::size_t>(c_elements * bytes_per_element(problem_.output)), "C");
  const std::uint8_t* values_at = upload(std::span<const std::uint8_t>(values), "activations");
  const std::uint8_t* scales_at =
      upload(std::span<const std::uint8_t>(scales), "activation scales");
  for (gpu::sm90::GroupEntry& entry : entries) {
    entry.activations = as_address(values_at);
    entry.activation_scales = as_address(scales_at);
    entry.c = as_address(operands.front().c);
    entry.c_stride_elements = static_cast<gpu::u64>(stride);
  }
}

void DeviceCall::add_weights(Operands operands, std::span<gpu::sm90::GroupEntry> entries) {
  for (std::size_t g = 0; g < entries.size(); ++g) {
    if (problem_.groups[g].m == 0) continue;
    const HostOperands& group = operands[g];
    const PackedWeights& weights = *group.weights;
    const double a_scale = problem_.activations == Activations::kNvfp4 ? group.a.global_scale : 1.0;
    entries[g].weights =
        as_address(upload(std::span<const std::uint8_t>(weights.bytes), "packed weights"));
    entries[g].factor = gpu::sm90::split_factor(a_scale * group.alpha * weights.global_scale);
    entries[g].factor_up =
        gpu::sm90::split_factor(a_scale * group.alpha_up * weights.global_scale_up);
  }
}

void DeviceCall::run(const gpu::sm90::GemmPlan& plan, const KernelSet& kernels,
                     std::uint64_t seed) {
  const auto release = [this](std::uint8_t* address) { memory_.release(address); };
  const std::unique_ptr<std::uint8_t, decltype(release)> workspace(
      static_cast<std::uint8_t*>(memory_.allocate(plan.workspace.bytes, "workspace")), release);
  std::uint8_t* counters = workspace.get() + plan.workspace.counters;
  std::memset(counters, 0, plan.workspace.counter_bytes);
  run_launches(plan, kernels, workspace.get(), seed);
  if (std::any_of(counters, counters + plan.workspace.counter_bytes,
                  [](std::uint8_t byte) { return byte != 0; })) {
    throw Error("the launches leave a counter that is not zero, as the next call needs it to be");
  }
}

void DeviceCall::run_launches(const gpu::sm90::GemmPlan& plan, const KernelSet& kernels,
                              std::uint8_t* workspace, std::uint64_t seed) {
  const auto group_count = static_cast<std::uint32_t>(problem_.groups.size());
  if (plan.images) {
    const gpu::sm90::ImageArgs images = gpu::sm90::image_args(plan, table_, group_count, workspace);
    const KernelSet::Images image_kernel = kernels.images(plan.images->config);
    in_launch("prologue",
              {.block_count = plan.images->block_count,
               .thread_count = plan.images->thread_count,
               .seed = seed,
               .memory = &memory_},
              [&] { image_kernel(images); });
  }
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const gpu::sm90::GemmLaunch& launch = plan.launches[i];
    const gpu::sm90::GemmArgs args = gpu::sm90::gemm_args(plan, launch, table_, workspace);
    const KernelSet::Gemm kernel = kernels.gemm(launch.kind, launch.config);
    in_launch(fmt::format("GEMM launch {} of {}", i + 1, plan.launches.size()),
              {.block_count = launch.block_count,
               .thread_count = launch.thread_count,
               .shared_bytes = launch.shared_bytes,
               .seed = seed + 1 + i,
               .memory = &memory_,
               .register_count = launch.register_count},
              [&] { kernel(args); });
  }
}

}  // namespace thresher::emulated
