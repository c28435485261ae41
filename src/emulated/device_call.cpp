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
#include "gpu/sm90/operands.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated {
namespace {

constexpr std::size_t kAlignmentBytes = 256;  // as a driver's allocations

void in_launch(const std::string& which, const emulator::LaunchOptions& options,
               const std::function<void()>& kernel) {
  try {
    emulator::launch(options, kernel);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", which, error.what()));
  }
}

}  // namespace

AlignedBytes allocate_aligned(std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignmentBytes, std::max<std::size_t>(bytes, 1)) != 0) {
    throw std::bad_alloc();
  }
  return {static_cast<std::uint8_t*>(memory), &std::free};
}

DeviceCall::DeviceCall(const Problem& problem, const Operands& operands, std::int64_t tokens_max)
    : problem_(problem) {
  const std::uint32_t* device_counts = operands.counts.counts;
  std::vector<gpu::u32> counts;
  std::vector<gpu::u64> weights;
  std::vector<GroupOperands> groups(operands.groups.begin(), operands.groups.end());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Group& group = problem_.groups[g];
    if (device_counts != nullptr) group.m = device_counts[g];
    counts.push_back(static_cast<gpu::u32>(group.m));
    const void* packed = nullptr;
    if (group.m > 0) {
      const backend::Weights& from = groups[g].weights->state();
      packed = upload_bytes(from.data(), static_cast<std::int64_t>(from.bytes()), "packed weights");
      if (!backend::rows_follow(operands)) {
        groups[g].rows = upload_rows(groups[g].rows, group.m, group);
      }
    }
    weights.push_back(reinterpret_cast<gpu::u64>(packed));
  }
  if (backend::rows_follow(operands)) {
    const Group& any = problem_.groups.front();
    table_.rows =
        gpu::sm90::rows_table(upload_rows(operands.rows, token_count(problem_), any), any);
  }
  const std::vector<gpu::sm90::GroupEntry> entries =
      gpu::sm90::group_entries(problem_, {.groups = groups}, weights);
  table_.entries = upload(std::span(entries), "groups");
  table_.token_counts = upload(std::span<const gpu::u32>(counts), "token counts");
  table_.token_limit = static_cast<gpu::u32>(
      operands.counts.tokens_max > 0 ? operands.counts.tokens_max : tokens_max);
}

template <typename T>
const T* DeviceCall::upload(std::span<const T> values, const char* name) {
  return static_cast<const T*>(
      upload_bytes(values.data(), static_cast<std::int64_t>(values.size_bytes()), name));
}

const void* DeviceCall::upload_bytes(const void* first, std::int64_t byte_count, const char* name) {
  if (byte_count == 0) return nullptr;
  const auto bytes = static_cast<std::size_t>(byte_count);
  std::uint8_t* memory = uploads_.emplace_back(allocate_aligned(bytes)).get();
  std::memcpy(memory, first, bytes);
  memory_.add_read_only(memory, bytes, name);
  return memory;
}

Rows DeviceCall::upload_rows(const Rows& rows, std::int64_t row_count, const Group& group) {
  if (row_count == 0) return rows;
  const std::int64_t elements = row_count * group.k;
  const bool nvfp4 = problem_.activations == Activations::kNvfp4;
  // The last row ends with its last element: what lies beyond is no device memory.
  const std::int64_t c_elements = (row_count - 1) * backend::c_stride(rows, group) + group.n;
  memory_.add(rows.c, static_cast<std::size_t>(c_elements * bytes_per_element(problem_.output)),
              "C");
  Rows uploaded = rows;
  uploaded.a = upload_bytes(rows.a, nvfp4 ? elements / 2 : elements * 2, "activations");
  if (nvfp4) {
    uploaded.a_scales = upload_bytes(rows.a_scales, elements / kBlockElements, "activation scales");
  }
  return uploaded;
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
