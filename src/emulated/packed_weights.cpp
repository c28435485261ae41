// SPDX-License-Identifier: Apache-2.0
#include "emulated/packed_weights.hpp"

#include "gpu/sm90/plan_extents.hpp"

namespace thresher::emulated {
namespace {

// Room for packed weights of this shape, whose extents nobody has looked at yet.
std::vector<std::uint8_t> room_for(Op op, const Nvfp4View& b) {
  check(b, op == Op::kDual ? "gate weights" : "weights");
  const gpu::sm90::WeightTiles tiles{.op = op, .n = b.rows, .k_elements = b.k_elements};
  return std::vector<std::uint8_t>(tiles.bytes());
}

}  // namespace

PackedWeights pack(const Nvfp4View& b, Activations activations) {
  PackedWeights packed{.bytes = room_for(Op::kGemm, b), .global_scale = b.global_scale};
  packed.tiles = gpu::sm90::pack_weights(b, gpu::sm90::operand_of(activations), packed.bytes);
  return packed;
}

PackedWeights pack_dual(const Nvfp4View& gate, const Nvfp4View& up, Activations activations) {
  PackedWeights packed{.bytes = room_for(Op::kDual, gate),
                       .global_scale = gate.global_scale,
                       .global_scale_up = up.global_scale};
  packed.tiles =
      gpu::sm90::pack_dual_weights(gate, up, gpu::sm90::operand_of(activations), packed.bytes);
  return packed;
}

}  // namespace thresher::emulated
