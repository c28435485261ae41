// SPDX-License-Identifier: Apache-2.0
// Kernels of all architectures instantiated for the emulator, found by their configs, whatever the
// types in those that one kernel serves (erased_types.hpp): what a compiled module is for a GPU.
#pragma once

#include <vector>

#include "gpu/gemm/gemm_plan.hpp"

namespace thresher::emulated {

class KernelSet {
 public:
  using Gemm = void (*)(const gpu::GemmArgs& args);
  using Images = void (*)(const gpu::ImageArgs& args);

  void add(gpu::GemmKind kind, const gpu::GemmConfig& config, Gemm kernel);
  void add(const gpu::ImageConfig& config, Images kernel);

  // Whether every launch of the plan has its kernel here.
  bool has(const gpu::GemmPlan& plan) const;

  // Throw Error where there is no such kernel.
  Gemm gemm(gpu::GemmKind kind, const gpu::GemmConfig& config) const;
  Images images(const gpu::ImageConfig& config) const;

 private:
  struct GemmEntry {
    gpu::GemmKind kind;
    gpu::GemmConfig config;
    Gemm kernel;
  };
  struct ImagesEntry {
    gpu::ImageConfig config;
    Images kernel;
  };
  const GemmEntry* find(gpu::GemmKind kind, const gpu::GemmConfig& config) const;
  const ImagesEntry* find(const gpu::ImageConfig& config) const;

  std::vector<GemmEntry> gemms_;
  std::vector<ImagesEntry> images_;
};

}  // namespace thresher::emulated
