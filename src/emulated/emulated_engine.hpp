// SPDX-License-Identifier: Apache-2.0
// The GPU backend without a GPU: plans, packing and kernels are the GPU's own, and the emulator
// runs them. Slow, and there for its verdict: a kernel that deadlocks, races or leaves its memory
// is an Error that says how.
//
//   EmulatedEngine engine;
//   const PackedWeights weights = pack(b.view());
//   engine.run(problem, "gpu_sm90:stages=2", operands, seed);
//
// Launches follow one another, whatever the variant says of streams and graphs. As on a GPU, nobody
// looks for NaN among the activations' scales: they make NaNs of the results.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulated/device_call.hpp"
#include "emulated/packed_weights.hpp"
#include "thresher/engine.hpp"

namespace thresher::emulated {

class EmulatedEngine {
 public:
  // The device to plan for; gpu::sm90::DeviceLimits{} is an H200.
  explicit EmulatedEngine(const gpu::sm90::DeviceLimits& limits = kFewSms) : limits_(limits) {}

  // Those of gpu::sm90::named_variants().
  std::vector<std::string> variants() const;

  // Whether the variant could run the problem on the device, and has its kernels here. Throws Error
  // if the problem is malformed or the variant unknown.
  Support supports(const Problem& problem, std::string_view variant) const;

  // Computes every group; `seed` chooses the order of events, and repeats it. Throws Error if the
  // variant cannot run the problem, on operands that do not fit it, and where a kernel misbehaves.
  void run(const Problem& problem, std::string_view variant, std::span<const HostOperands> operands,
           std::uint64_t seed) const;

 private:
  gpu::sm90::DeviceLimits limits_;
};

}  // namespace thresher::emulated
