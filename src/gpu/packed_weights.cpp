// SPDX-License-Identifier: Apache-2.0
#include "gpu/packed_weights.hpp"

#include <fmt/format.h>

#include "gpu/gemm/operands.hpp"
#include "gpu/variants_row.hpp"

namespace thresher::gpu {
namespace {

bool wants_images(Activations activations, const SmLimits& limits) {
  return is_blackwell(limits) && activations == Activations::kNvfp4;
}

}  // namespace

PackedForm packed_form(const WeightMatrices& matrices, const SmLimits& limits) {
  if (wants_images(matrices.activations, limits)) return sm100::images_for(matrices);
  return tiles_for(matrices);
}

std::size_t packed_bytes(const PackedForm& form) {
  return std::visit([](const auto& own) { return own.bytes(); }, form);
}

void pack(const PackedForm& form, const WeightMatrices& matrices, std::span<std::uint8_t> out) {
  if (std::holds_alternative<sm100::WeightImages>(form)) return sm100::pack_images(matrices, out);
  pack_weights(matrices, out);
}

Nvfp4Matrix unpack(const PackedForm& form, std::span<const std::uint8_t> packed, int matrix) {
  if (const auto* images = std::get_if<sm100::WeightImages>(&form)) {
    return sm100::unpack_images(*images, packed, matrix);
  }
  return unpack_weights(std::get<WeightTiles>(form), packed, matrix);
}

std::string why_not_form(const PackedForm& form, Activations activations, const SmLimits& limits) {
  const bool images = std::holds_alternative<sm100::WeightImages>(form);
  if (images != wants_images(activations, limits)) {
    return fmt::format(
        "weights were packed for {} activations but the problem has {}: say so when you pack them",
        images ? "nvfp4" : "fp16 or bf16", to_string(activations));
  }
  if (images) return {};
  return why_not_operand(std::get<WeightTiles>(form), activations);
}

}  // namespace thresher::gpu
