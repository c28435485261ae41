// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/gemm_support.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/gemm/gemm_support.hpp"
#include "gpu/gemm/plan_extents.hpp"

namespace thresher::gpu::sm90 {
namespace {

std::string why_not_prologue(const GemmKnobs& knobs, Op op) {
  if (knobs.prologue == Prologue::kKernel) return {};
  if (knobs.kind == GemmKind::kPlain)
    return "the plain kernel has a prologue of its own: take prologue = kernel";
  if (!knobs.specialised) {
    return "a prologue inside needs a producer: take roles = split";
  }
  if (knobs.launches != Launches::kGrouped || products_of(knobs, op).size() > 1) {
    return "a prologue inside needs everything in one launch: take launches = grouped and, for "
           "dual problems, dual = fused";
  }
  return {};
}

std::string why_not_values(const GemmKnobs& knobs) {
  if (knobs.tokens % 8 != 0) return fmt::format("tokens = {} is not a multiple of 8", knobs.tokens);
  if (std::string reason = why_not_between("tokens", knobs.tokens, 8, 256); !reason.empty()) {
    return reason;
  }
  if (knobs.kind == GemmKind::kPlain) return {};  // has one setting of the others
  if (knobs.prologue == Prologue::kNone) {
    return "Hopper's kernels multiply images of the activations: take prologue = kernel or inside";
  }
  return first_of({why_not_one_of("rows", knobs.weight_rows, {128, 192, 256}),
                   why_not_between("warpgroups", knobs.consumer_warpgroups, 1, 4),
                   why_not_between("stages", knobs.stages, 2, 32),
                   why_not_one_of("steps", knobs.fragment_steps, {2, 4}),
                   why_not_between("split_k", knobs.split_k, 1, 64),
                   why_not_between("blocks", knobs.blocks_per_sm, 1, 8)});
}

int sum_registers(const GemmConfig& config) {
  return strips_per_warpgroup(config) * config.tokens / 2;
}

// Registers that a consumer needs beside its sums and fragments: what it decodes from, addresses
// and loop state, gates that it reads. Found by compiling, as is the least number for finishing a
// tile, when the fragments are gone: with fewer, the compiler spills in the main loop or serialises
// the MMAs. Whether it spills a few outside that loop only its own report can tell.
constexpr int kFinishRegisters = 60;

// Where weights lie changes from tile to tile, fragments of all steps take two k tiles a round, and
// sums of parts are added in between. Kernels of 192 rows have the fewest registers: what is
// allowed here compiles without a spill anywhere, whatever the types and the store.
int half_tile_registers(const GemmConfig& config) {
  if (!has_half_tile(config)) return 0;
  if (config.fragment_steps == kStepsPerTile) return has_parts(config) ? 56 : 44;
  return has_parts(config) ? 20 : 12;
}

int other_registers(const GemmConfig& config) {
  const int strips = strips_per_warpgroup(config);
  const int packed = 6 * strips * sub_tiles_per_strip(config.product);
  const int gates = config.product == Product::kUpPass ? 24 * strips : 0;
  const int loader = config.specialised ? 0 : 16;
  return 28 + packed + gates + loader + half_tile_registers(config);
}

std::string why_not_registers(const GemmConfig& config) {
  const int sums = sum_registers(config);
  const int fragments = 2 * strips_per_warpgroup(config) * config.fragment_steps * 4;
  const int handed_over = consumer_registers(config);
  const int available = handed_over > 0 ? handed_over : launch_registers(config);
  const int others = std::max(other_registers(config), kFinishRegisters - fragments);
  if (sums + fragments + others <= available) return {};
  return fmt::format(
      "a thread would need {} registers for sums, {} for fragments and about {} more, and has {}: "
      "take fewer tokens, rows, steps or blocks, or more warpgroups",
      sums, fragments, others, available);
}

std::string why_not_config(GemmKind kind, const GemmConfig& config, const SmLimits& limits) {
  if (std::string reason = why_not_rows(config); !reason.empty()) return reason;
  std::string reason = first_of({why_not_schedule(config), why_not_shared(kind, config, limits)});
  if (reason.empty() && kind == GemmKind::kPipelined) reason = why_not_registers(config);
  return reason;
}

}  // namespace

std::string why_not(const GemmKnobs& knobs, const PlanRequest& request) {
  if (std::string reason = why_not_values(knobs); !reason.empty()) return reason;
  if (std::string reason =
          first_of({why_not_prologue(knobs, request.problem.op), why_not_loads(knobs)});
      !reason.empty()) {
    return reason;
  }
  for (const Product product : products_of(knobs, request.problem.op)) {
    const GemmConfig config = config_of(knobs, request.problem, product);
    std::string reason = why_not_config(knobs.kind, config, request.limits);
    if (reason.empty()) reason = why_not_size(config, request);
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace thresher::gpu::sm90
