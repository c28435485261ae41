// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.hpp"

#include "assert.hpp"
#include "cpu/features.hpp"
#include "gpu/device.hpp"

namespace thresher::cli {

cpu::Isa best_isa() { return cpu::runnable_isas().back(); }

MachineRates machine_rates(const cpu::Ceilings& ceilings) {
  // AMX's ceiling is that of bf16 tiles, which hold bf16 and NVFP4 values exactly but not fp16.
  const bool has_tiles = best_isa() == cpu::Isa::kAmx;
  return {.read_gb_per_s = ceilings.read_gb_per_s,
          .nvfp4_gop_per_s = ceilings.integer_gop_per_s,
          .fp16_gop_per_s = ceilings.fma_gflop_per_s,
          .bf16_gop_per_s = has_tiles ? ceilings.integer_gop_per_s : ceilings.fma_gflop_per_s};
}

MachineRates machine_rates(const gpu::GpuCeilings& ceilings) {
  // Hopper has no FP4 tensor cores: NVFP4 operands are multiplied as fp16, which holds them
  // exactly.
  return {.read_gb_per_s = ceilings.read_gb_per_s,
          .nvfp4_gop_per_s = ceilings.fp16_gop_per_s,
          .fp16_gop_per_s = ceilings.fp16_gop_per_s,
          .bf16_gop_per_s = ceilings.bf16_gop_per_s};
}

std::string device_name(Backend backend) {
  if (backend != Backend::kGpu) return cpu::cpu_model();
  const gpu::DriverLookup& found = gpu::find_driver();
  THRESHER_ASSERT(found.driver != nullptr);
  return gpu::device_properties(*found.driver, 0).name;
}

}  // namespace thresher::cli
