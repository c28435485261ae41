// SPDX-License-Identifier: Apache-2.0
// What the files named_kernels_*.cpp share: a variant's kernels for all problems that
// named_kernels.hpp promises.
#pragma once

#include "emulated/instantiate.hpp"
#include "emulated/named_kernels.hpp"

namespace thresher::emulated {

// The default of such kernels with some knobs turned.
template <gpu::sm90::Mma kMma, auto kTurn>
constexpr gpu::sm90::GemmKnobs turned() {
  gpu::sm90::GemmKnobs knobs = gpu::sm90::default_knobs(kMma);
  kTurn(knobs);
  return knobs;
}

template <gpu::sm90::GemmKnobs kKnobs, gpu::sm90::OutputType kOutput>
void add_output(KernelSet& kernels) {
  using gpu::sm90::ActivationType;
  add_kernels<kKnobs, Op::kGemm, ActivationType::kNvfp4, kOutput>(kernels);
  add_kernels<kKnobs, Op::kDual, ActivationType::kNvfp4, kOutput>(kernels);
  add_kernels<kKnobs, Op::kGemm, ActivationType::kFp16, kOutput>(kernels);
  add_kernels<kKnobs, Op::kDual, ActivationType::kFp16, kOutput>(kernels);
}

// bf16 goes with fp16 everywhere (erased_types.hpp).
template <gpu::sm90::GemmKnobs kKnobs>
void add_variant(KernelSet& kernels) {
  add_output<kKnobs, gpu::sm90::OutputType::kFp16>(kernels);
  add_output<kKnobs, gpu::sm90::OutputType::kFp32>(kernels);
}

}  // namespace thresher::emulated
