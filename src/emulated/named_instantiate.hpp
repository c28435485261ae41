// SPDX-License-Identifier: Apache-2.0
// What the files named_kernels_*.cpp share: a variant's kernels for all problems that
// named_kernels.hpp promises.
#pragma once

#include "emulated/instantiate.hpp"
#include "emulated/named_kernels.hpp"

namespace thresher::emulated {

// The default of such kernels with some knobs turned.
template <gpu::Mma kMma, auto kTurn>
constexpr gpu::GemmKnobs turned() {
  gpu::GemmKnobs knobs = gpu::default_knobs(kMma);
  kTurn(knobs);
  return knobs;
}

template <gpu::GemmKnobs kKnobs, gpu::OutputType kOutput>
void add_output(KernelSet& kernels) {
  using gpu::ActivationType;
  add_kernels<kKnobs, Op::kGemm, ActivationType::kNvfp4, kOutput>(kernels);
  add_kernels<kKnobs, Op::kDual, ActivationType::kNvfp4, kOutput>(kernels);
  add_kernels<kKnobs, Op::kGemm, ActivationType::kFp16, kOutput>(kernels);
  add_kernels<kKnobs, Op::kDual, ActivationType::kFp16, kOutput>(kernels);
}

// bf16 goes with fp16 everywhere (erased_types.hpp).
template <gpu::GemmKnobs kKnobs>
void add_variant(KernelSet& kernels) {
  add_output<kKnobs, gpu::OutputType::kFp16>(kernels);
  add_output<kKnobs, gpu::OutputType::kFp32>(kernels);
}

}  // namespace thresher::emulated
