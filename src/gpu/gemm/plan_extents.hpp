// SPDX-License-Identifier: Apache-2.0
// What gemm_plan.cpp and gemm_support.cpp both need: the configs that knobs stand for, and limits
// of the work that hold however the tokens are spread over the groups.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/gemm/gemm_plan.hpp"

namespace thresher::gpu {

inline constexpr std::int64_t kCountMax = std::int64_t{1} << 31;  // what kernels count in 32 bits

ActivationType activation_type(Activations activations);
hw::Operand operand_of(Activations activations);
// In the order of their launches.
std::vector<Product> products_of(const GemmKnobs& knobs, Op op);
GemmConfig config_of(const GemmKnobs& knobs, const Problem& problem, Product product);
// The same where the types are known: a constant for whoever instantiates kernels.
constexpr GemmConfig config_of(const GemmKnobs& knobs, Product product, ActivationType activations,
                               OutputType output) {
  const GemmConfig config{.product = product,
                          .output = output,
                          .tokens = knobs.tokens,
                          .widths = knobs.widths,
                          .weight_rows = knobs.weight_rows,
                          .consumer_warpgroups = knobs.consumer_warpgroups,
                          .stages = knobs.stages,
                          .fragment_steps = knobs.fragment_steps,
                          .specialised = knobs.specialised,
                          .store = knobs.store,
                          .schedule = knobs.schedule,
                          .split_k = knobs.split_k,
                          .blocks_per_sm = knobs.blocks_per_sm,
                          .arrive = knobs.arrive,
                          .prologue = knobs.prologue,
                          .loads = knobs.loads,
                          .activations = activations,
                          .mma = knobs.mma};
  return knobs.kind == GemmKind::kPlain ? plain_config(config) : config;
}
// How the knobs cut tokens, which images and all launches share.
constexpr TokenCut token_cut(const GemmKnobs& knobs) {
  return {knobs.tokens, knobs.kind == GemmKind::kPlain ? Widths::kFixed : knobs.widths,
          8 * token_sharers(knobs.mma, knobs.weight_rows, knobs.loads)};
}
std::uint32_t shared_bytes_of(GemmKind kind, const GemmConfig& config);

struct Extents {
  std::int64_t token_tiles = 0;  // of all groups together: each group may have a broken one
  std::int64_t columns = 0;      // of all these tiles, as wide as they are
  std::int64_t k_tiles_max = 0;
  std::int64_t n_max = 0;

  Extents(const PlanRequest& request, TokenCut cut);

  std::int64_t tiles(const GemmConfig& config) const;  // parts of k counted
  std::int64_t cost(const GemmConfig& config) const;   // of all, as a balanced schedule counts it
  std::int64_t image_tasks() const;
};

}  // namespace thresher::gpu
