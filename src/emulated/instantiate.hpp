// SPDX-License-Identifier: Apache-2.0
// Instantiates the kernels that one setting of the knobs needs for one kind of problem. Whoever
// includes this compiles device code: named_kernels_*.cpp and tests.
#pragma once

#include "emulated/erased_types.hpp"
#include "emulated/kernel_set.hpp"
#include "gpu/sm100/kernels/gemm.cuh"
#include "gpu/sm80/kernels/gemm.cuh"
#include "gpu/sm90/kernels/activation_images.cuh"
#include "gpu/sm90/kernels/gemm.cuh"
#include "gpu/sm90/kernels/plain_gemm.cuh"
#include "gpu/sm90/plan_extents.hpp"

namespace thresher::emulated {

template <gpu::sm90::GemmKind kKind, gpu::sm90::GemmConfig kConfig>
void add_gemm(KernelSet& kernels) {
  if constexpr (kConfig.mma == gpu::sm90::Mma::kBlockScaled) {
    kernels.add(kKind, kConfig, gpu::sm100::gemm_kernel<kConfig>);
  } else if constexpr (kConfig.mma == gpu::sm90::Mma::kWarp) {
    kernels.add(kKind, kConfig, gpu::sm80::gemm_kernel<kConfig>);
  } else if constexpr (kKind == gpu::sm90::GemmKind::kPlain) {
    kernels.add(kKind, kConfig, gpu::sm90::plain_gemm_kernel<kConfig>);
  } else {
    kernels.add(kKind, kConfig, gpu::sm90::gemm_kernel<kConfig>);
  }
}

template <gpu::sm90::GemmKnobs kKnobs, Op kOp, gpu::sm90::ActivationType kActivations,
          gpu::sm90::OutputType kOutput>
void add_kernels(KernelSet& kernels) {
  constexpr auto kConfigOf = [](gpu::sm90::Product product) {
    return erased(gpu::sm90::config_of(kKnobs, product, kActivations, kOutput));
  };
  if constexpr (kKnobs.prologue == gpu::sm90::Prologue::kKernel) {
    constexpr gpu::sm90::ImageConfig kImages =
        erased({.activations = kActivations, .cut = gpu::sm90::token_cut(kKnobs)});
    kernels.add(kImages, gpu::sm90::image_kernel<kImages>);
  }
  if constexpr (kOp == Op::kGemm) {
    add_gemm<kKnobs.kind, kConfigOf(gpu::sm90::Product::kGemm)>(kernels);
  } else if constexpr (kKnobs.dual == gpu::sm90::Dual::kFused) {
    add_gemm<kKnobs.kind, kConfigOf(gpu::sm90::Product::kDual)>(kernels);
  } else {
    add_gemm<kKnobs.kind, kConfigOf(gpu::sm90::Product::kGatePass)>(kernels);
    add_gemm<kKnobs.kind, kConfigOf(gpu::sm90::Product::kUpPass)>(kernels);
  }
}

}  // namespace thresher::emulated
