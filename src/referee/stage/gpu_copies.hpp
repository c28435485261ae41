// SPDX-License-Identifier: Apache-2.0
// The weights of a match on a GPU: on stage in as many copies as timed batches go round.
//
// They are drawn once per match, with a witness for each problem, and turned anew for every heat:
// the signs of random rows, of each copy others. Their memory stays as well. What is fresh in a
// heat is what its times depend on: the contestants' processes, and the memory these take on the
// device.
#pragma once

#include <span>
#include <vector>

#include "gemm/random.hpp"
#include "measure/witness.hpp"
#include "referee/stage/gpu_stage.hpp"

namespace thresher::referee {

class GpuCopies {
 public:
  // Witnesses compute on `engine`, which must outlive this.
  GpuCopies(const gpu::Device& device, const Engine& engine, std::vector<GpuEntry> entries,
            Random& random);

  // Before every heat, while no contestant is running.
  void turn(Random& random);

  std::span<const GpuEntry> entries() const { return entries_; }
  std::span<StagedProblem> of(int problem_index);
  std::span<const StagedProblem> all() const { return copies_; }
  GpuStage& stage() { return stage_; }
  // Who knows what is right for a problem's copies, and what their weights' signs are in this heat.
  measure::Witness& witness_of(int problem_index) {
    return witnesses_[static_cast<std::size_t>(problem_index)];
  }
  std::span<const measure::RowSigns> signs_of(int problem_index) const;
  bool intact() const;

 private:
  std::size_t first_copy(int problem_index) const;

  const std::vector<GpuEntry> entries_;
  GpuStage stage_;
  std::vector<StagedProblem> copies_;  // problem by problem
  std::vector<std::size_t> problem_of_copy_;
  std::vector<measure::Witness> witnesses_;  // by problem
  std::vector<measure::RowSigns> signs_;     // by copy
};

}  // namespace thresher::referee
