// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/operands.hpp"

#include <fmt/format.h>

#include "gpu/gemm/plan_extents.hpp"

namespace thresher::gpu {
namespace {

u64 address_of(const void* pointer) { return reinterpret_cast<u64>(pointer); }

}  // namespace

std::size_t activation_alignment(Activations activations) {
  return activations == Activations::kNvfp4 ? 8 : 16;
}

std::string why_not_operand(const WeightTiles& tiles, Activations activations) {
  if (tiles.operand == operand_of(activations)) return {};
  return fmt::format(
      "weights were packed for {} activations but the problem has {}: say so when you pack them",
      activations == Activations::kBf16 ? "nvfp4 or fp16" : "bf16", to_string(activations));
}

RowsTable rows_table(const Rows& rows, const Group& group) {
  return {.activations = address_of(rows.a),
          .activation_scales = address_of(rows.a_scales),
          .c = address_of(rows.c),
          .c_stride_elements = static_cast<u64>(backend::c_stride(rows, group))};
}

std::vector<GroupEntry> group_entries(const Problem& problem, const Operands& operands,
                                      const std::vector<u64>& weights) {
  std::vector<GroupEntry> entries;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const Group& group = problem.groups[g];
    GroupEntry& entry = entries.emplace_back();
    entry.n = static_cast<u32>(group.n);
    entry.k = static_cast<u32>(group.k);
    if (group.m == 0 && operands.counts.counts == nullptr) continue;
    const GroupOperands& own = operands.groups[g];
    const backend::GroupFactors factors = backend::factors_of(problem.activations, own);
    const RowsTable rows = rows_table(own.rows, group);
    entry.weights = weights[g];
    entry.activations = rows.activations;
    entry.activation_scales = rows.activation_scales;
    entry.c = rows.c;
    entry.c_stride_elements = rows.c_stride_elements;
    entry.factor = factors.gate;
    if (problem.op == Op::kDual) entry.factor_up = factors.up;
  }
  return entries;
}

}  // namespace thresher::gpu
