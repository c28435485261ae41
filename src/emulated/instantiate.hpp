// SPDX-License-Identifier: Apache-2.0
// Instantiates the kernels that one setting of the knobs needs for one kind of problem. Whoever
// includes this compiles device code: named_kernels_*.cpp and tests.
#pragma once

#include "emulated/kernel_set.hpp"
#include "gpu/kernels/activation_images.cuh"
#include "gpu/kernels/gemm.cuh"
#include "gpu/kernels/plain_gemm.cuh"
#include "gpu/kernels/plan_extents.hpp"

namespace thresher::emulated {

template <gpu::GemmKind kKind, gpu::GemmConfig kConfig>
void add_gemm(KernelSet& kernels) {
  if constexpr (kKind == gpu::GemmKind::kPlain) {
    kernels.add(kKind, kConfig, gpu::plain_gemm_kernel<kConfig>);
  } else {
    kernels.add(kKind, kConfig, gpu::gemm_kernel<kConfig>);
  }
}

template <gpu::GemmKnobs kKnobs, Op kOp, gpu::ActivationType kActivations, gpu::OutputType kOutput>
void add_kernels(KernelSet& kernels) {
  constexpr auto kConfigOf = [](gpu::Product product) {
    return gpu::config_of(kKnobs, product, kActivations, kOutput);
  };
  if constexpr (kKnobs.prologue == gpu::Prologue::kKernel) {
    constexpr gpu::ImageConfig kImages{.activations = kActivations, .cut = gpu::token_cut(kKnobs)};
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
