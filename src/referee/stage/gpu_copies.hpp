// SPDX-License-Identifier: Apache-2.0
// The weights of a match on a GPU: on stage in as many copies as timed batches go round.
//
// They are drawn once per match, and turned anew for every heat: the signs of random rows, of each
// copy others. Their memory stays as well. What is fresh in a heat is what its times depend on:
// the contestants' processes, and the memory these take on the device.
#pragma once

#include <span>
#include <vector>

#include "gemm/random.hpp"
#include "referee/stage/gpu_stage.hpp"

namespace thresher::referee {

class GpuCopies {
 public:
  GpuCopies(const gpu::Device& device, std::vector<GpuEntry> entries, Random& random);

  // Before every heat, while no contestant is running.
  void turn(Random& random);

  std::span<const GpuEntry> entries() const { return entries_; }
  std::span<StagedProblem> of(int problem_index);
  std::span<const StagedProblem> all() const { return copies_; }
  GpuStage& stage() { return stage_; }
  bool intact() const;

 private:
  const std::vector<GpuEntry> entries_;
  GpuStage stage_;
  std::vector<StagedProblem> copies_;  // problem by problem
};

}  // namespace thresher::referee
