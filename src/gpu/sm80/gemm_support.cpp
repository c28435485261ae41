// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm80/gemm_support.hpp"

#include <fmt/format.h>

#include "gpu/gemm/gemm_support.hpp"
#include "gpu/gemm/plan_extents.hpp"

namespace thresher::gpu::sm80 {
namespace {

// Knobs of Hopper's kernels that this one has a single setting of.
std::string why_not_hopper(const GemmKnobs& knobs) {
  return first_of(
      {unless(knobs.kind == GemmKind::kPipelined,
              "there is no plain kernel for warps: take kernel = pipelined"),
       unless(!knobs.specialised, "all warps load and multiply here: take roles = same"),
       unless(knobs.store != Store::kStaged,
              "bulk copies need Hopper: take store = direct or vectors"),
       unless(knobs.fragment_steps == 2, "warps decode two steps at a time: take steps = 2"),
       unless(knobs.arrive == Arrive::kThread,
              "a block's barrier frees the stages here: take arrive = thread"),
       unless(knobs.prologue != Prologue::kInside,
              "blocks do not wait for each other here: take prologue = kernel or none")});
}

std::string why_not_values(const GemmKnobs& knobs) {
  if (knobs.tokens % 8 != 0) return fmt::format("tokens = {} is not a multiple of 8", knobs.tokens);
  return first_of({why_not_between("tokens", knobs.tokens, 8, 128),
                   why_not_one_of("rows", knobs.weight_rows, {128, 256}),
                   why_not_one_of("warpgroups", knobs.consumer_warpgroups, {1, 2, 4}),
                   why_not_between("stages", knobs.stages, 2, 16),
                   why_not_between("split_k", knobs.split_k, 1, 64),
                   why_not_between("blocks", knobs.blocks_per_sm, 1, 8)});
}

// Every part must have some k: a tile without is how a block learns that it is done.
std::string why_not_parts(const GemmKnobs& knobs, const Problem& problem) {
  for (const Group& group : problem.groups) {
    const std::int64_t k_tiles = divide_up(group.k, kTileK);
    const std::int64_t each = divide_up(k_tiles, knobs.split_k);
    if ((knobs.split_k - 1) * each < k_tiles) continue;
    return fmt::format("split_k = {} leaves a part without any of k = {}: take a smaller one",
                       knobs.split_k, group.k);
  }
  return {};
}

// What a thread needs beside its sums: fragments and what they are decoded from, tokens on their
// way to the MMAs, which wide tiles have more of, addresses and the state of loops; in an up pass
// gates that it reads. Found by compiling.
int other_registers(const GemmConfig& config) {
  const int strips = strips_per_warpgroup(config);
  const int packed = 6 * strips * sub_tiles_per_strip(config.product);
  const int fragments = 4 * strips;
  const int tokens = config.tokens / 2;
  const int loops = decodes_tokens(config) ? 85 : 45;
  const int gates = config.product == Product::kUpPass ? 8 * strips : 0;
  return loops + packed + fragments + tokens + gates;
}

std::string why_not_registers(const GemmConfig& config) {
  const int sums = strips_per_warpgroup(config) * config.tokens / 2;
  const int others = other_registers(config);
  const int available = launch_registers(config);
  if (sums + others <= available) return {};
  return fmt::format(
      "a thread would need {} registers for sums and about {} more, and has {}: take fewer tokens, "
      "rows or blocks, or more warpgroups",
      sums, others, available);
}

}  // namespace

std::string why_not(const GemmKnobs& knobs, const PlanRequest& request) {
  std::string reason =
      first_of({why_not_hopper(knobs), why_not_loads(knobs), why_not_values(knobs)});
  if (reason.empty()) reason = why_not_parts(knobs, request.problem);
  if (!reason.empty()) return reason;
  for (const Product product : products_of(knobs, request.problem.op)) {
    const GemmConfig config = config_of(knobs, request.problem, product);
    reason = why_not_rows(config);
    if (reason.empty()) {
      reason =
          first_of({why_not_schedule(config), why_not_shared(knobs.kind, config, request.limits),
                    why_not_registers(config), why_not_size(config, request)});
    }
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace thresher::gpu::sm80
