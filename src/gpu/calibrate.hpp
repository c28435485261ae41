// SPDX-License-Identifier: Apache-2.0
// Measures what a GPU can do: the ceilings that a speed of light is made of.
#pragma once

#include <optional>
#include <string>

#include "gemm/speed_of_light.hpp"
#include "gpu/runtime/compiler.hpp"
#include "gpu/runtime/cubin_cache.hpp"
#include "gpu/runtime/device.hpp"

namespace thresher::gpu {

struct GpuCeilings {
  int compute_major = 0;
  double read_gb_per_s = 0;   // device memory, best number of blocks found
  double fp16_gop_per_s = 0;  // tensor cores, sums in FP32; a multiply-add is two operations
  double bf16_gop_per_s = 0;
  double nvfp4_gop_per_s = 0;  // by tcgen05; 0 where there is none
};

// Takes about `seconds`, and device memory of 32 times the L2. The rates are those of clocks that
// have settled under load: 0.3 seconds are enough, a GPU that was idle may want more. Throws Error
// if a kernel's sums are wrong.
GpuCeilings measure_ceilings(const Device& device, const Compiler& compiler,
                             const CubinCache& cache, double seconds);

// The ceilings as the rates of a machine: what was measured, and for what tensor cores can beyond
// the kernels here, published ratios.
MachineRates machine_rates(const GpuCeilings& ceilings);

// What the compiler is given: the kernels "read", "multiply_fp16" and "multiply_bf16".
CompileRequest ceilings_request(const std::string& architecture);
// And "multiply_nvfp4", where there is tensor memory. Never run on a Blackwell.
std::optional<CompileRequest> nvfp4_ceiling_request(const std::string& architecture);

}  // namespace thresher::gpu
