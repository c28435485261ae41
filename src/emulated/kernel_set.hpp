// SPDX-License-Identifier: Apache-2.0
// Kernels of gpu/sm90/kernels/ instantiated for the emulator, found by their configs, whatever the
// types in those that one kernel serves (erased_types.hpp): what a compiled module is for a GPU.
#pragma once

#include <vector>

#include "gpu/sm90/gemm_plan.hpp"

namespace thresher::emulated {

class KernelSet {
 public:
  using Gemm = void (*)(const gpu::sm90::GemmArgs& args);
  using Images = void (*)(const gpu::sm90::ImageArgs& args);

  void add(gpu::sm90::GemmKind kind, const gpu::sm90::GemmConfig& config, Gemm kernel);
  void add(const gpu::sm90::ImageConfig& config, Images kernel);

  // Whether every launch of the plan has its kernel here.
  bool has(const gpu::sm90::GemmPlan& plan) const;

  // Throw Error where there is no such kernel.
  Gemm gemm(gpu::sm90::GemmKind kind, const gpu::sm90::GemmConfig& config) const;
  Images images(const gpu::sm90::ImageConfig& config) const;

 private:
  struct GemmEntry {
    gpu::sm90::GemmKind kind;
    gpu::sm90::GemmConfig config;
    Gemm kernel;
  };
  struct ImagesEntry {
    gpu::sm90::ImageConfig config;
    Images kernel;
  };
  const GemmEntry* find(gpu::sm90::GemmKind kind, const gpu::sm90::GemmConfig& config) const;
  const ImagesEntry* find(const gpu::sm90::ImageConfig& config) const;

  std::vector<GemmEntry> gemms_;
  std::vector<ImagesEntry> images_;
};

}  // namespace thresher::emulated
