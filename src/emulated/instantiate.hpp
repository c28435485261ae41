// SPDX-License-Identifier: Apache-2.0
// Instantiates the kernels that one setting of the knobs needs for one kind of problem. Whoever
// includes this compiles device code: named_kernels_*.cpp and tests.
#pragma once

#include "emulated/erased_types.hpp"
#include "emulated/kernel_set.hpp"
#include "gpu/gemm/kernels/activation_images.cuh"
#include "gpu/gemm/plan_extents.hpp"
#include "gpu/sm100/kernels/gemm.cuh"
#include "gpu/sm80/kernels/gemm.cuh"
#include "gpu/sm90/kernels/gemm.cuh"
#include "gpu/sm90/kernels/plain_gemm.cuh"

namespace thresher::emulated {

template <gpu::GemmKind kKind, gpu::GemmConfig kConfig>
void add_gemm(KernelSet& kernels) {
  if constexpr (kConfig.mma == gpu::Mma::kBlockScaled) {
    kernels.add(kKind, kConfig, gpu::sm100::gemm_kernel<kConfig>);
  } else if constexpr (kConfig.mma == gpu::Mma::kWarp) {
    kernels.add(kKind, kConfig, gpu::sm80::gemm_kernel<kConfig>);
  } else if constexpr (kKind == gpu::GemmKind::kPlain) {
    kernels.add(kKind, kConfig, gpu::sm90::plain_gemm_kernel<kConfig>);
  } else {
    kernels.add(kKind, kConfig, gpu::sm90::gemm_kernel<kConfig>);
  }
}

template <gpu::GemmKnobs kKnobs, Op kOp, gpu::ActivationType kActivations, gpu::OutputType kOutput>
void add_kernels(KernelSet& kernels) {
  constexpr auto kConfigOf = [](gpu::Product product) {
    return erased(gpu::config_of(kKnobs, product, kActivations, kOutput));
  };
  if constexpr (kKnobs.prologue == gpu::Prologue::kKernel) {
    constexpr gpu::ImageConfig kImages =
        erased({.activations = kActivations, .cut = gpu::token_cut(kKnobs)});
    kernels.add(kImages, gpu::image_kernel<kImages>);
  }
  if constexpr (kOp == Op::kGemm) {
    add_gemm<kKnobs.kind, kConfigOf(gpu::Product::kGemm)>(kernels);
  } else if constexpr (kKnobs.dual == gpu::Dual::kFused) {
    add_gemm<kKnobs.kind, kConfigOf(gpu::Product::kDual)>(kernels);
  } else {
    add_gemm<kKnobs.kind, kConfigOf(gpu::Product::kGatePass)>(kernels);
    add_gemm<kKnobs.kind, kConfigOf(gpu::Product::kUpPass)>(kernels);
  }
}

}  // namespace thresher::emulated
