// SPDX-License-Identifier: Apache-2.0
// Contestants take turns at one problem on a GPU, timed by the device's own clock. What bench_match
// is for the CPU; docs/measuring.md says why each step is there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/bench_match.hpp"
#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"

namespace thresher::cli {

struct GpuContestant {
  std::string name;
  Problem problem;  // as this contestant computes it: a peer may write another output type
  // Queues one call that reads copy `copy` of the weights. A captured one must be capturable.
  std::function<void(std::size_t copy, bool captured)> enqueue;
  // Overwrites the outputs of that copy, and looks at them: what is wrong, or nothing.
  std::function<void(std::size_t copy)> poison;
  std::function<std::vector<OutputView>(std::size_t copy)> fetch;
  std::function<std::string()> find_trespass;  // in what was fetched last
};

struct GpuMatchOptions {
  const gpu::Device& device;
  const gpu::Stream& stream;
  std::size_t copy_count = 1;
  bool graph = true;  // samples are replays of a graph of many calls, or launches of as many
  double seconds = 3;
  std::uint64_t seed = 1;
};

// One Timing per contestant, in their order.
std::vector<Timing> play_gpu_match(const std::vector<GpuContestant>& contestants,
                                   const Inputs& inputs, const GpuMatchOptions& options);

}  // namespace thresher::cli
