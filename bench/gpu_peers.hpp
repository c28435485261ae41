// SPDX-License-Identifier: Apache-2.0
// GPU peers: other ways to compute the same problem on the same GPU, timed side by side with ours.
//
// Kind to the peer wherever there was a choice: activations lie ready in 16 bits, weights too but
// for cublas_dequantise, the output is 16 bits wide whatever the problem says, gate and up of a
// dual problem are one product of twice the columns, and its SiLU takes one launch. Operands and
// output are bf16, or fp16 where the activations are: NVFP4 is exact in both. Sums are FP32
// throughout, and a dual problem's products stay FP32, because the result must obey the contract.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/cublas.hpp"
#include "gemm/inputs.hpp"
#include "gpu/runtime/compiler.hpp"
#include "gpu/runtime/cubin_cache.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "thresher/problem.hpp"

namespace thresher::bench {

// Device and stream must outlive the peers.
struct GpuPeerSetup {
  const gpu::Device& device;
  const gpu::Stream& stream;
  const gpu::Compiler& compiler;
  const gpu::CubinCache& cache;
  const Problem& problem;
  const Inputs& inputs;
  std::size_t copy_count = 1;  // of the weights: enough that none is still in the L2 when it recurs
};

class GpuPeer {
 public:
  virtual ~GpuPeer() = default;
  virtual std::string name() const = 0;
  // Queues one call on the setup's stream, with the weights of `copy` < copy_count. May be captured
  // in a graph.
  virtual void enqueue(std::size_t copy) = 0;
  // One m x n row-major matrix per group, without memory where m = 0.
  virtual const std::vector<gpu::DeviceBuffer>& outputs() const = 0;
  // The problem as the peer computes it: with its own output type.
  virtual const Problem& problem() const = 0;
};

struct GpuPeers {
  std::vector<std::unique_ptr<GpuPeer>> peers;  // each has made a call already, so it can
  std::vector<std::string> notes;               // one for each peer that cannot: its name and why
};

// cublas_sequence: a product per group, one after the other.
// cublas_streams: the same on a pool of up to 8 streams.
// cublas_grouped: the products of all groups in one call.
// cublas_dequantise: NVFP4 weights, expanded to 16 bits inside every call, then as
//   cublas_sequence: what one writes who has a BLAS and not the memory.
// `library` must outlive them.
GpuPeers make_gpu_peers(const GpuPeerSetup& setup, const Cublas& library);

}  // namespace thresher::bench
