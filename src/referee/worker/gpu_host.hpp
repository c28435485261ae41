// SPDX-License-Identifier: Apache-2.0
// A contestant on a GPU inside our own worker: a variant of the engine, or the kernels of a CUDA
// source. The worker speaks the protocol and holds the clock (worker_gpu.cpp), a host queues work.
#pragma once

#include <memory>
#include <span>

#include "gpu/runtime/stream.hpp"
#include "referee/worker/host.hpp"
#include "thresher/gpu.hpp"

namespace thresher::referee {

// The same bytes twice: packing happens on the host, kernels read on the device.
struct GpuHostedWeights {
  HostedWeights host;
  HostedWeights device;
};

// A call that is ready to be queued, as often as anybody likes.
class GpuBound {
 public:
  virtual ~GpuBound() = default;
  virtual void enqueue(const gpu::Stream& stream) const = 0;
};

class GpuPrepared {
 public:
  virtual ~GpuPrepared() = default;
  // Addresses are the device's. What is bound must not outlive what is prepared.
  virtual std::unique_ptr<GpuBound> bind(std::span<const HostedCall> calls) = 0;
};

class GpuHost {
 public:
  virtual ~GpuHost() = default;
  // Throws Unsupported.
  virtual std::unique_ptr<GpuPrepared> prepare(const Problem& problem,
                                               std::span<const GpuHostedWeights> weights) = 0;
};

// The engine must outlive the host.
std::unique_ptr<GpuHost> make_gpu_variant_host(const GpuEngine& engine, std::string variant);
std::unique_ptr<GpuHost> make_cuda_host(const GpuEngine& engine, const Job& job);

}  // namespace thresher::referee
