// SPDX-License-Identifier: Apache-2.0
// A problem in a GPU's memory, as the GPU peers want it. Groups without rows have no part in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/cublas_handle.hpp"
#include "bench/gpu_peer_kernels.hpp"
#include "bench/gpu_peers.hpp"
#include "bench/product_factors.hpp"

namespace thresher::bench {

// A group with rows. Matrices of all groups follow each other; offsets count elements.
struct PeerGroup {
  std::size_t index = 0;  // in the problem
  Group extents;
  ProductFactors factors;
  // Of a dual problem: n columns of gate, then n of up, whose factors the SiLU applies.
  ProductShape product;
  std::size_t weight_offset = 0;
  std::size_t activation_offset = 0;
  std::size_t product_offset = 0;  // of floats, dual only
  std::size_t first_row = 0;
};

std::vector<PeerGroup> peer_groups(const Problem& problem, const Inputs& inputs);

// What all peers of a problem read: activations in 16 bits; copies of the weights in NVFP4 and in
// 16 bits, in which the rows of up follow those of gate.
class PeerOperands {
 public:
  PeerOperands(const GpuPeerSetup& setup, const PeerKernels& kernels);

  const std::vector<PeerGroup>& groups() const { return groups_; }
  const void* activations(const PeerGroup& group) const;
  const gpu::DeviceBuffer& weights(std::size_t copy) const { return weights_[copy]; }
  static const void* weights_in(const gpu::DeviceBuffer& all, const PeerGroup& group);

  // The weights of a copy from NVFP4 to 16 bits.
  void expand(const gpu::Stream& stream, std::size_t copy, const gpu::DeviceBuffer& to) const;
  gpu::DeviceBuffer make_weight_buffer() const;

 private:
  void upload_activations(const GpuPeerSetup& setup);
  void upload_nvfp4(const Inputs& inputs);
  void make_copies(std::size_t copy_count, const gpu::Stream& stream);

  const gpu::Device& device_;
  const PeerKernels& kernels_;
  std::vector<PeerGroup> groups_;
  std::size_t weight_count_ = 0;
  gpu::DeviceBuffer activations_;
  std::vector<gpu::DeviceBuffer> nvfp4_;  // a copy's codes, then its scales
  std::vector<gpu::DeviceBuffer> weights_;
};

// What one peer writes: C, and before it the products of a dual problem.
class PeerResults {
 public:
  PeerResults(const GpuPeerSetup& setup, const std::vector<PeerGroup>& groups);

  const Problem& problem() const { return problem_; }
  const std::vector<gpu::DeviceBuffer>& outputs() const { return outputs_; }
  ProductTypes product_types() const;
  void* product(const PeerGroup& group) const;

  // The gate of a dual problem, of all groups or of one; nothing to do for gemm.
  void gate(const gpu::Stream& stream, const PeerKernels& kernels) const;
  void gate(const gpu::Stream& stream, const PeerKernels& kernels, const PeerGroup& group) const;

 private:
  void make_gate_rows(const gpu::Device& device, const std::vector<PeerGroup>& groups);

  Problem problem_;
  std::vector<gpu::DeviceBuffer> outputs_;
  gpu::DeviceBuffer products_;
  gpu::DeviceBuffer gate_rows_;
  std::size_t gate_row_count_ = 0;
};

}  // namespace thresher::bench
