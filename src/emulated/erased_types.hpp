// SPDX-License-Identifier: Apache-2.0
// The emulator's kernels are compiled once for all types that differ in nothing but how bits are
// read or rounded, and are told by the launch which ones they have (gpu/hw/emulated_types.hpp). So
// every variant runs with every type that a device runs it with. Those for warps are the same
// however many blocks share an SM.
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/hw/emulated_types.hpp"

namespace thresher::emulated {

// Whether the kernel itself reads activations as the caller has them: NVFP4 takes other code then.
constexpr bool reads_activations(const gpu::GemmConfig& config) {
  return config.prologue != gpu::Prologue::kKernel;
}

constexpr gpu::ImageConfig erased(gpu::ImageConfig config) {
  if (config.activations != gpu::ActivationType::kNvfp4) {
    config.activations = gpu::ActivationType::kWide;
  }
  return config;
}

constexpr gpu::GemmConfig erased(gpu::GemmConfig config) {
  if (!reads_activations(config)) {
    config.activations = gpu::ActivationType::kAny;
  } else if (config.activations != gpu::ActivationType::kNvfp4) {
    config.activations = gpu::ActivationType::kWide;
  }
  // A gate pass stores floats whatever the output is.
  if (config.output != gpu::OutputType::kFp32 || config.product == gpu::Product::kGatePass) {
    config.output = gpu::OutputType::k16Bits;
  }
  // How many blocks share an SM is the compiler's affair: it bounds their registers.
  if (config.mma == gpu::Mma::kWarp) config.blocks_per_sm = 1;
  return config;
}

// Of a config that is not erased.
constexpr gpu::hw::LaunchTypes types_of(const gpu::GemmConfig& config) {
  return {.operand = gpu::operand_of(config.activations),
          .stored = config.output == gpu::OutputType::kBf16 ? gpu::hw::Operand::kBf16
                                                            : gpu::hw::Operand::kFp16,
          .nvfp4 = config.activations == gpu::ActivationType::kNvfp4};
}

}  // namespace thresher::emulated
