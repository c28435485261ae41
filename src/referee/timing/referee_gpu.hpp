// SPDX-License-Identifier: Apache-2.0
// The referee's own hold of the GPU: the device whose memory it shares with contestants, our
// kernels compiled once for all processes of a match, and what the device can do at most.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "gpu/runtime/device.hpp"
#include "referee/hold.hpp"
#include "referee/sandbox/job.hpp"
#include "thresher/engine.hpp"

namespace thresher::referee {

class RefereeGpu final : public Hold {
 public:
  // `kernel_folder` is for compiled kernels, and contestants may read it. Throws Error where there
  // is no usable GPU.
  RefereeGpu(const EngineOptions& options, std::filesystem::path kernel_folder);

  const Engine& engine() const override { return engine_; }
  void equip(ArmOptions& arm) const override;
  void equip(BuildOptions& options) const override { options.gpu = this; }
  std::string description() const override { return engine_.description(); }
  const gpu::Device& device() const;

  // What every job on this GPU is told.
  CudaSetting setting() const;

  // Compiles the kernels by which `variant` runs `problems` and puts them where workers find them.
  // Returns the launches of one call of each; of problems that it does not support, none.
  std::vector<gpu::LaunchCounts> compile_variant(const std::string& variant,
                                                 std::span<const Problem> problems) const;

  // "1980 MHz, 310 W, 45 C, held back by power cap", or why nobody knows.
  std::string clocks() const override;

 private:
  void share_kernels() const;

  const EngineOptions options_;
  const std::filesystem::path kernel_folder_;
  const Engine engine_;
};

}  // namespace thresher::referee
