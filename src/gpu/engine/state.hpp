// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of thresher/gpu.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpu/runtime/compiler.hpp"
#include "gpu/runtime/cubin_cache.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/graph.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/module.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/sm90/gemm_plan.hpp"
#include "gpu/sm90/variant.hpp"
#include "gpu/sm90/weight_tiles.hpp"
#include "thresher/gpu.hpp"

namespace thresher {

struct GpuWeights::State {
  gpu::sm90::WeightTiles tiles;
  float global_scale = 1.0f;
  float global_scale_up = 1.0f;
  gpu::DeviceBuffer buffer;
};

struct GpuPlan::State {
  Problem problem;
  gpu::sm90::Variant variant;
  std::string variant_name;
  gpu::sm90::GemmPlan plan;
  // Launches of the same kernel share it.
  std::vector<gpu::Kernel> kernels;
  std::vector<GpuKernelReport> reports;  // one per kernel
  std::vector<std::size_t>
      kernel_of_launch;  // the prologue's if it has one, then one per launch of the plan
};

struct GpuWorkspace::State {
  gpu::DeviceBuffer buffer;
};

struct GpuBuffer::State {
  gpu::DeviceBuffer buffer;
};

// Streams for launches=streams. Calls may share them: they order nothing but what they must.
using StreamPool = std::vector<gpu::Stream>;

struct GpuCall::State {
  struct Step {
    const gpu::Kernel* kernel = nullptr;
    gpu::LaunchShape shape;
    std::variant<gpu::sm90::ImageArgs, gpu::sm90::GemmArgs> args;
    std::size_t lane = 0;  // which stream of the pool, where there is one
  };

  std::shared_ptr<gpu::Context> context;
  std::shared_ptr<const GpuPlan::State> plan;
  gpu::DeviceBuffer table;  // what the kernels read of the groups, and their counters
  std::vector<Step> steps;  // a prologue first
  std::shared_ptr<const StreamPool> pool;  // null: everything on the caller's stream
  std::vector<gpu::Event> events;          // the fork's, then one per stream of the pool
  std::optional<gpu::Graph> graph;

  void enqueue_kernels(const gpu::Stream& stream) const;
};

struct GpuEngine::State {
  gpu::Device device;
  gpu::Compiler compiler;
  gpu::CubinCache cache;
  int driver_version = 0;
  gpu::sm90::DeviceLimits limits;
  gpu::Stream stream;  // for recording graphs
  std::shared_ptr<const StreamPool> pool;
};

}  // namespace thresher
