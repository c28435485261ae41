// SPDX-License-Identifier: Apache-2.0
// A problem in a GPU's memory, and a plan's launches on it: what kernel_scene.hpp is for the
// emulator. Copies of everything that is read make caches cold when calls take turns with them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "gpu/compiler.hpp"
#include "gpu/cubin_cache.hpp"
#include "gpu/device.hpp"
#include "gpu/kernels/gemm_plan.hpp"
#include "gpu/memory.hpp"
#include "gpu/module.hpp"
#include "gpu/stream.hpp"

namespace thresher::gpu::testing {

// What every scene needs of the machine.
struct Bench {
  const Device& device;
  const Stream& stream;
  const Compiler& compiler;
  const CubinCache& cache;
};

class DeviceScene {
 public:
  DeviceScene(const Bench& bench, Problem problem, InputFamily family, std::size_t copy_count);

  void poison() const;
  // Of the first copy, against the oracle: every element, or a sample of a large problem.
  Conformance conformance() const;

  const Problem& problem() const { return problem_; }
  std::size_t copy_count() const { return tables_.size(); }
  const GroupTable& table(std::size_t copy) const { return tables_[copy]; }

 private:
  template <typename Range>
  u64 upload(const Range& values);
  GroupEntry make_entry(std::size_t group, const std::vector<std::uint8_t>& packed);

  const Bench& bench_;
  const Problem problem_;
  const InputFamily family_;
  const Inputs inputs_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<DeviceBuffer> outputs_;  // of all groups of the first copy, then of the second ...
  std::vector<GroupTable> tables_;
};

// One setting of the knobs for one problem: compiled kernels, plan and workspace.
class ReadyKernels {
 public:
  // Throws Error if the knobs cannot run the problem.
  ReadyKernels(const Bench& bench, const Problem& problem, const GemmKnobs& knobs);

  void enqueue(const DeviceScene& scene, std::size_t copy) const;
  // Microseconds of a call, prologue and all, in a graph of many whose weights take turns.
  double call_us(const DeviceScene& scene) const;
  // Registers and spills of its kernels.
  const std::string& resources() const { return resources_; }

 private:
  Kernel compile(const std::string& source, std::size_t shared_bytes);

  const Bench& bench_;
  GemmPlan plan_;
  DeviceBuffer workspace_;
  std::vector<Kernel> kernels_;  // the prologue, then one per launch
  std::string resources_;
};

}  // namespace thresher::gpu::testing
