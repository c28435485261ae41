// SPDX-License-Identifier: Apache-2.0
// A peer: another way to compute the same problem, timed side by side with ours.
//
// Kind to the peer wherever there was a choice: its weights are prepared before the clock starts
// and lie on 2 MiB pages, it uses as many threads as we do for every step, and it writes FP32 only,
// whatever the problem's output type, so that it need not round. Activations arrive as the problem
// says and are expanded inside the timed call, as ours are decoded inside it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/openblas.hpp"
#include "gemm/inputs.hpp"
#include "thresher/problem.hpp"

namespace thresher::bench {

struct PeerSetup {
  const Problem& problem;
  const Inputs& inputs;
  std::vector<float*> outputs;  // one m x n row-major matrix per group, null where m = 0
  int thread_count = 1;
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  // One call, on the next copy of the weights (cold_copies.hpp).
  virtual void run() = 0;
};

// SGEMM on weights expanded to FP32 beforehand: 7.1 times our memory, nothing to decode.
std::unique_ptr<Peer> make_openblas_sgemm(const Openblas& openblas, const PeerSetup& setup);

// The NVFP4 weights expanded to FP32 inside the call, 128 rows at a time, each multiplied while it
// is in the cache: what one writes who has a BLAS and not the memory.
std::unique_ptr<Peer> make_openblas_dequant(const Openblas& openblas, const PeerSetup& setup);

}  // namespace thresher::bench
