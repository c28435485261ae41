// SPDX-License-Identifier: Apache-2.0
// The compiled kernels of a CUDA source, launched as its pitch says. All host code is ours.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>

#include "gpu/runtime/gpu.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/module.hpp"
#include "referee/contestant/cuda_launches.hpp"
#include "referee/worker/host.hpp"
#include "thresher/contestant.cuh"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

// Without asking for more a launch gets this much dynamic shared memory.
constexpr unsigned kSharedBytesFree = 48u << 10;

std::vector<std::byte> read_cubin(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  if (bytes.empty()) throw Error(fmt::format("cannot read {}", path.string()));
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

thresher_kernel_matrix to_cuda(const Nvfp4View& view) {
  return {.codes = view.codes, .scales = view.scales, .global_scale = view.global_scale};
}

using Kernels = std::map<std::string, gpu::Kernel>;

// What of a problem all of its calls share.
struct CudaProblem {
  CudaLaunchPlan plan;
  std::vector<thresher_kernel_group> groups;  // without activations and outputs
  thresher_kernel_arguments arguments = {};   // without a table
  gpu::DeviceBuffer packed;
  gpu::DeviceBuffer workspace;
};

class BoundCuda : public Bound {
 public:
  BoundCuda(const gpu::Device& device, const std::vector<PlannedLaunch>& launches,
            const Kernels& kernels, const thresher_kernel_arguments& arguments,
            gpu::DeviceBuffer table)
      : device_(device),
        launches_(launches),
        kernels_(kernels),
        table_(std::move(table)),
        arguments_(arguments) {
    arguments_.groups = table_.pointer<const thresher_kernel_group>();
  }

  void enqueue(void* handle) const override {
    const gpu::Stream stream(device_.context(), static_cast<gpu::cuda::Stream>(handle));
    for (const PlannedLaunch& launch : launches_) {
      kernels_.at(launch.kernel).launch(stream, launch.shape, arguments_);
    }
  }

 private:
  const gpu::Device& device_;
  const std::vector<PlannedLaunch>& launches_;
  const Kernels& kernels_;
  gpu::DeviceBuffer table_;
  thresher_kernel_arguments arguments_;
};

class PreparedCuda : public Prepared {
 public:
  PreparedCuda(const gpu::Device& device, Kernels& kernels, CudaProblem problem)
      : device_(device), kernels_(kernels), problem_(std::move(problem)) {
    allow_shared_memory(problem_.plan.launches);
    allow_shared_memory(problem_.plan.prepare);
    const gpu::Stream stream(device);
    const std::unique_ptr<Bound> packing = bound(problem_.plan.prepare, problem_.groups);
    packing->enqueue(stream.handle());
    stream.synchronize();
  }

  std::unique_ptr<Bound> bind(std::span<const HostedCall> calls) override {
    std::vector<thresher_kernel_group> groups = problem_.groups;
    for (std::size_t g = 0; g < calls.size(); ++g) {
      groups[g].a = to_cuda(calls[g].a);
      groups[g].a16 = calls[g].a16;
      groups[g].alpha = calls[g].alpha;
      groups[g].alpha_up = calls[g].alpha_up;
      groups[g].c = calls[g].c;
      groups[g].c_stride_elements = calls[g].c_stride_elements;
    }
    return bound(problem_.plan.launches, groups);
  }

 private:
  std::unique_ptr<Bound> bound(const std::vector<PlannedLaunch>& launches,
                               const std::vector<thresher_kernel_group>& groups) const {
    gpu::DeviceBuffer table(device_, groups.size() * sizeof(thresher_kernel_group));
    table.copy_in(gpu::bytes_of(groups));
    return std::make_unique<BoundCuda>(device_, launches, kernels_, problem_.arguments,
                                       std::move(table));
  }

  void allow_shared_memory(const std::vector<PlannedLaunch>& launches) {
    for (const PlannedLaunch& launch : launches) {
      if (launch.shape.shared_bytes <= kSharedBytesFree) continue;
      kernels_.at(launch.kernel).allow_shared_bytes(launch.shape.shared_bytes);
    }
  }

  const gpu::Device& device_;
  Kernels& kernels_;
  CudaProblem problem_;
};

class CudaHost : public Host {
 public:
  CudaHost(const gpu::Device& device, const Job& job)
      : device_(device), launches_(job.cuda.launches) {
    const gpu::Module module(device_, read_cubin(job.library), job.library.filename().string());
    for (const auto* list : {&launches_.launches, &launches_.prepare}) {
      for (const CudaLaunch& launch : *list) {
        if (!kernels_.contains(launch.kernel)) {
          kernels_.emplace(launch.kernel, module.kernel(launch.kernel));
        }
      }
    }
  }

  std::unique_ptr<Prepared> prepare(const Problem& problem,
                                    std::span<const HostedWeights> weights) override {
    const int sm_count = device_.properties().sm_count;
    CudaProblem prepared{.plan = plan_launches(launches_, problem, sm_count)};
    for (std::size_t g = 0; g < weights.size(); ++g) {
      const Group& group = problem.groups[g];
      prepared.groups.push_back({.m = group.m,
                                 .n = group.n,
                                 .k = group.k,
                                 .b = to_cuda(weights[g].device_b),
                                 .b_up = to_cuda(weights[g].device_b_up)});
    }
    prepared.packed = {device_, static_cast<std::size_t>(prepared.plan.packed_bytes)};
    prepared.workspace = {device_, static_cast<std::size_t>(prepared.plan.workspace_bytes)};
    prepared.arguments = {
        .group_count = static_cast<long long>(problem.groups.size()),
        .op = problem.op == Op::kDual ? THRESHER_CONTESTANT_DUAL : THRESHER_CONTESTANT_GEMM,
        .activations = contestant_code(problem.activations),
        .output = contestant_code(problem.output),
        .sm_count = sm_count,
        .packed = prepared.packed.pointer<void>(),
        .workspace = prepared.workspace.pointer<void>()};
    return std::make_unique<PreparedCuda>(device_, kernels_, std::move(prepared));
  }

 private:
  const gpu::Device& device_;
  const CudaLaunches launches_;
  Kernels kernels_;
};

}  // namespace

std::unique_ptr<Host> make_cuda_host(const Engine& engine, const Job& job) {
  return std::make_unique<CudaHost>(gpu::gpu_of(engine).device, job);
}

}  // namespace thresher::referee
