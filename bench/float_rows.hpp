// SPDX-License-Identifier: Apache-2.0
// What surrounds an FP32 matrix product in a peer: operands expanded to float, the gate of a dual
// GEMM. With AVX2 where the machine has it, so that only the peer's own idea holds it back.
#pragma once

#include <cstdint>

namespace thresher::bench {

// k_elements NVFP4 values without their global scale: exact in float. The global scale belongs into
// the product's alpha.
void expand_nvfp4(const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t k_elements,
                  float* out);

void expand_fp16(const std::uint16_t* values, std::int64_t count, float* out);
void expand_bf16(const std::uint16_t* values, std::int64_t count, float* out);

// out = silu(gate) * up; `out` may be one of the two.
void gate_rows(const float* gate, const float* up, std::int64_t count, float* out);

}  // namespace thresher::bench
