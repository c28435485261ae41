// SPDX-License-Identifier: Apache-2.0
#include "emulated/device_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>

#include "assert.hpp"
#include "emulated/erased_types.hpp"
#include "emulator/launch.hpp"
#include "gpu/gemm/operands.hpp"
#include "gpu/hw/emulated.hpp"
#include "gpu/sm100/weight_images.hpp"
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
    throw NoMemory(fmt::format("cannot allocate {} bytes of memory", bytes));
  }
  return {static_cast<std::uint8_t*>(memory), &std::free};
}

DeviceCall::DeviceCall(const Problem& problem, const Operands& operands, std::int64_t tokens_max,
                       bool weights_by_map)
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
      packed = upload(from.data(), static_cast<std::int64_t>(from.bytes()), "packed weights");
      if (!backend::rows_follow(operands)) {
        groups[g].rows = upload_rows(groups[g].rows, group.m, group);
      }
    }
    if (weights_by_map && packed != nullptr) packed = upload_map(packed, group);
    weights.push_back(reinterpret_cast<gpu::u64>(packed));
  }
  if (backend::rows_follow(operands)) {
    const Group& any = problem_.groups.front();
    table_.rows = gpu::rows_table(upload_rows(operands.rows, token_count(problem_), any), any);
  }
  const std::vector<gpu::GroupEntry> entries =
      gpu::group_entries(problem_, {.groups = groups}, weights);
  table_.entries = static_cast<const gpu::GroupEntry*>(
      upload(entries.data(), static_cast<std::int64_t>(std::span(entries).size_bytes()), "groups"));
  table_.token_counts = static_cast<const gpu::u32*>(
      upload(counts.data(), static_cast<std::int64_t>(std::span(counts).size_bytes()),
             "token counts", device_counts));
  table_.counts_known = device_counts == nullptr ? 1 : 0;
  table_.token_limit = static_cast<gpu::u32>(
      operands.counts.tokens_max > 0 ? operands.counts.tokens_max : tokens_max);
}

const void* DeviceCall::upload(const void* first, std::int64_t byte_count, const char* name,
                               const void* origin) {
  if (byte_count == 0) return nullptr;
  const auto bytes = static_cast<std::size_t>(byte_count);
  std::uint8_t* memory = uploads_.emplace_back(allocate_aligned(bytes)).get();
  std::memcpy(memory, first, bytes);
  memory_.add_copy(memory, bytes, name, origin);
  return memory;
}

const void* DeviceCall::upload_map(const void* packed, const Group& group) {
  const gpu::hw::TensorMap map = gpu::hw::tensor_map(
      gpu::sm100::map_of({.op = problem_.op, .n = group.n, .k_elements = group.k},
                         reinterpret_cast<gpu::u64>(packed)));
  return upload(&map, sizeof map, "tensor map");
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
  uploaded.a = upload(rows.a, nvfp4 ? elements / 2 : elements * 2, "activations", rows.a);
  if (nvfp4) {
    uploaded.a_scales =
        upload(rows.a_scales, elements / kBlockElements, "activation scales", rows.a_scales);
  }
  return uploaded;
}

CallMemory::CallMemory(const gpu::GemmPlan& plan)
    : CallMemory(plan, allocate_aligned(plan.workspace.bytes).release()) {
  own_ = {workspace_, &std::free};
}

CallMemory::CallMemory(const gpu::GemmPlan& plan, std::uint8_t* workspace)
    : own_(nullptr, &std::free),
      workspace_(workspace),
      counters_(allocate_aligned(plan.workspace.counter_bytes)) {
  std::memset(counters_.get(), 0, plan.workspace.counter_bytes);
}

void DeviceCall::run(const gpu::GemmPlan& plan, const KernelSet& kernels, const CallMemory& memory,
                     const CallRun& how) {
  const gpu::WorkspaceLayout& layout = plan.workspace;
  // NaN in every format, so that a read of what nobody wrote in this call shows.
  std::memset(memory.workspace(), 0xff, layout.bytes);
  if (layout.bytes > 0) memory_.add(memory.workspace(), layout.bytes, "workspace");
  if (layout.counter_bytes > 0) memory_.add(memory.counters(), layout.counter_bytes, "counters");
  run_launches(plan, kernels, memory, how);
  if (std::any_of(memory.counters(), memory.counters() + layout.counter_bytes,
                  [](std::uint8_t byte) { return byte != 0; })) {
    throw Error("the launches leave a counter that is not zero, as the next call needs it to be");
  }
}

void DeviceCall::run_launches(const gpu::GemmPlan& plan, const KernelSet& kernels,
                              const CallMemory& memory, const CallRun& how) {
  emulator::GlobalHistory own;
  emulator::GlobalHistory* const history = how.history != nullptr ? how.history : &own;
  const auto group_count = static_cast<std::uint32_t>(problem_.groups.size());
  const bool streams = how.launches == gpu::Launches::kStreams;
  const bool dependent = gpu::launches_depend(plan.launches.front().config.mma, how.launches);
  if (plan.images) {
    const gpu::ImageArgs images = gpu::image_args(plan, table_, group_count, memory.workspace());
    const KernelSet::Images image_kernel = kernels.images(plan.images->config);
    in_launch("prologue",
              {.block_count = plan.images->block_count,
               .thread_count = plan.images->thread_count,
               .seed = how.seed,
               .memory = &memory_,
               .order = {.dependent = dependent},
               .history = history},
              [&] { image_kernel(images); });
  }
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const gpu::GemmLaunch& launch = plan.launches[i];
    const gpu::GemmArgs args = call_args(plan, launch, memory);
    const KernelSet::Gemm kernel = kernels.gemm(launch.kind, launch.config);
    in_launch(fmt::format("GEMM launch {} of {}", i + 1, plan.launches.size()),
              {.block_count = launch.block_count,
               .cluster_blocks = launch.cluster_blocks,
               .thread_count = launch.thread_count,
               .shared_bytes = launch.shared_bytes,
               .seed = how.seed + 1 + i,
               .memory = &memory_,
               .resident_block_count = 2 * launch.cluster_blocks,
               .register_count = launch.register_count,
               .tensor_sums = how.tensor_sums,
               .order = {.dependent = dependent,
                         .lane = streams ? static_cast<int>(launch.first_group) : -1},
               .types = types_of(launch.config),
               .history = history},
              [&] { kernel(args); });
  }
}

// Counters stand apart from the workspace, as on a GPU.
gpu::GemmArgs DeviceCall::call_args(const gpu::GemmPlan& plan, const gpu::GemmLaunch& launch,
                                    const CallMemory& memory) const {
  gpu::GemmArgs args = gpu::gemm_args(plan, launch, table_, memory.workspace());
  const auto at = [&](std::size_t offset) {
    return reinterpret_cast<gpu::u32*>(memory.counters() + offset);
  };
  args.counters = at(launch.counter_offset);
  args.image_counters = at(plan.workspace.image_counter_offset);
  return args;
}

}  // namespace thresher::emulated
