// SPDX-License-Identifier: Apache-2.0
// The kernels of gpu_peer_kernels.cuh, compiled for a device and launched.
#pragma once

#include <cstddef>
#include <string>

#include "bench/gpu_peer_args.hpp"
#include "bench/gpu_peers.hpp"
#include "gpu/hw/words.hpp"
#include "gpu/runtime/module.hpp"

namespace thresher::bench {

// What a peer's products are made of.
gpu::hw::Operand operand_of(const Problem& problem);

// What the compiler is given: the kernels "expand" and "gate".
gpu::CompileRequest peer_kernels_request(gpu::hw::Operand operand, const std::string& architecture);

class PeerKernels {
 public:
  explicit PeerKernels(const GpuPeerSetup& setup);

  void expand(const gpu::Stream& stream, const ExpandArgs& args) const;
  void gate(const gpu::Stream& stream, const GateArgs& args, std::size_t row_count) const;

 private:
  explicit PeerKernels(const gpu::Module& module);

  gpu::Kernel expand_;
  gpu::Kernel gate_;
};

}  // namespace thresher::bench
