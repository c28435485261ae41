// SPDX-License-Identifier: Apache-2.0
// The operands of a call as the kernels take them, on a GPU and in the emulator.
#pragma once

#include <string>
#include <vector>

#include "backend/device.hpp"
#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/weight_tiles.hpp"

namespace thresher::gpu {

// What the addresses of activations must be multiples of.
std::size_t activation_alignment(Activations activations);

// Empty, or why weights in this layout cannot be multiplied by such activations.
std::string why_not_operand(const WeightTiles& tiles, Activations activations);

// Where rows of such a shape lie, as device code takes addresses.
RowsTable rows_table(const Rows& rows, const Group& group);

// One line per group; `weights` are the addresses of what was packed. Of a group that can have no
// tokens only n and k are there.
std::vector<GroupEntry> group_entries(const Problem& problem, const Operands& operands,
                                      const std::vector<u64>& weights);

}  // namespace thresher::gpu
