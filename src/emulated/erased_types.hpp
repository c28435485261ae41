// SPDX-License-Identifier: Apache-2.0
// The emulator's kernels are compiled once for all types that differ in nothing but how bits are
// read or rounded, and are told by the launch which ones they have (gpu/hw/emulated_types.hpp). So
// every variant runs with every type that a device runs it with.
#pragma once

#include "gpu/hw/emulated_types.hpp"
#include "gpu/sm90/kernels/gemm_config.hpp"

namespace thresher::emulated {

// Whether the kernel itself reads activations as the caller has them: NVFP4 takes other code then.
constexpr bool reads_activations(const gpu::sm90::GemmConfig& config) {
  return config.prologue != gpu::sm90::Prologue::kKernel;
}

constexpr gpu::sm90::ImageConfig erased(gpu::sm90::ImageConfig config) {
  if (config.activations != gpu::sm90::ActivationType::kNvfp4) {
    config.activations = gpu::sm90::ActivationType::kWide;
  }
  return config;
}

constexpr gpu::sm90::GemmConfig erased(gpu::sm90::GemmConfig config) {
  if (!reads_activations(config)) {
    config.activations = gpu::sm90::ActivationType::kAny;
  } else if (config.activations != gpu::sm90::ActivationType::kNvfp4) {
    config.activations = gpu::sm90::ActivationType::kWide;
  }
  // A gate pass stores floats whatever the output is.
  if (config.output != gpu::sm90::OutputType::kFp32 ||
      config.product == gpu::sm90::Product::kGatePass) {
    config.output = gpu::sm90::OutputType::k16Bits;
  }
  return config;
}

// Of a config that is not erased.
constexpr gpu::hw::LaunchTypes types_of(const gpu::sm90::GemmConfig& config) {
  return {.operand = gpu::sm90::operand_of(config.activations),
          .stored = config.output == gpu::sm90::OutputType::kBf16 ? gpu::hw::Operand::kBf16
                                                                  : gpu::hw::Operand::kFp16,
          .nvfp4 = config.activations == gpu::sm90::ActivationType::kNvfp4};
}

}  // namespace thresher::emulated
