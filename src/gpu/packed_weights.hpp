// SPDX-License-Identifier: Apache-2.0
// Packed weights of any GPU: the form depends on the device and on the activations that they are
// packed for. Blackwell multiplies NVFP4 by NVFP4 as both are; everything else decodes weights to
// 16 bits first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "backend/machine.hpp"
#include "gpu/gemm/weight_tiles.hpp"
#include "gpu/sm100/weight_images.hpp"

namespace thresher::gpu {

using PackedForm = std::variant<WeightTiles, sm100::WeightImages>;

PackedForm packed_form(const WeightMatrices& matrices, const SmLimits& limits);
std::size_t packed_bytes(const PackedForm& form);
// `out` has packed_bytes() bytes.
void pack(const PackedForm& form, const WeightMatrices& matrices, std::span<std::uint8_t> out);
Nvfp4Matrix unpack(const PackedForm& form, std::span<const std::uint8_t> packed, int matrix);

// Empty, or why such weights are not for a problem with these activations on such a device.
std::string why_not_form(const PackedForm& form, Activations activations, const SmLimits& limits);

}  // namespace thresher::gpu
