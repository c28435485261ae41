// SPDX-License-Identifier: Apache-2.0
// What the files named_kernels_*.cpp share: a variant's kernels for all problems that
// named_kernels.hpp promises.
#pragma once

#include "emulated/instantiate.hpp"
#include "emulated/named_kernels.hpp"

namespace thresher::emulated {

template <gpu::sm90::GemmKnobs kKnobs, gpu::sm90::ActivationType kActivations,
          gpu::sm90::OutputType kOutput>
void add_both_operations(KernelSet& kernels) {
  add_kernels<kKnobs, Op::kGemm, kActivations, kOutput>(kernels);
  add_kernels<kKnobs, Op::kDual, kActivations, kOutput>(kernels);
}

// NVFP4 becomes fp16 in the prologue, so both are multiplied by the same kernels.
template <gpu::sm90::GemmKnobs kKnobs>
void add_fp16_output(KernelSet& kernels) {
  add_both_operations<kKnobs, gpu::sm90::ActivationType::kNvfp4, gpu::sm90::OutputType::kFp16>(
      kernels);
  add_both_operations<kKnobs, gpu::sm90::ActivationType::kFp16, gpu::sm90::OutputType::kFp16>(
      kernels);
}

template <gpu::sm90::GemmKnobs kKnobs, gpu::sm90::OutputType kOutput>
void add_every_activation(KernelSet& kernels) {
  add_both_operations<kKnobs, gpu::sm90::ActivationType::kNvfp4, kOutput>(kernels);
  add_both_operations<kKnobs, gpu::sm90::ActivationType::kFp16, kOutput>(kernels);
  add_both_operations<kKnobs, gpu::sm90::ActivationType::kBf16, kOutput>(kernels);
}

template <gpu::sm90::GemmKnobs kKnobs>
void add_every_type(KernelSet& kernels) {
  add_every_activation<kKnobs, gpu::sm90::OutputType::kFp16>(kernels);
  add_every_activation<kKnobs, gpu::sm90::OutputType::kBf16>(kernels);
  add_every_activation<kKnobs, gpu::sm90::OutputType::kFp32>(kernels);
}

}  // namespace thresher::emulated
