// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm100/gemm_support.hpp"

#include <fmt/format.h>

#include "gpu/gemm/gemm_support.hpp"
#include "gpu/gemm/plan_extents.hpp"
#include "gpu/sm100/kernels/tensor_layout.hpp"

namespace thresher::gpu::sm100 {
namespace {

// Knobs of other kernels that this one has a single setting of.
std::string why_not_others(const GemmKnobs& knobs) {
  return first_of({unless(knobs.kind == GemmKind::kPipelined,
                          "there is no plain kernel for Blackwell: take kernel = pipelined"),
                   unless(knobs.specialised, "warps have roles here: take roles = split"),
                   unless(knobs.consumer_warpgroups == 1,
                          "four warps reach all lanes of tensor memory: take warpgroups = 1"),
                   unless(knobs.fragment_steps == 4, "nothing is decoded here: take steps = 4"),
                   unless(knobs.arrive == Arrive::kThread,
                          "commits free the stages here: take arrive = thread"),
                   unless(knobs.prologue == Prologue::kNone,
                          "the kernel reads activations as they are: take prologue = none")});
}

std::string why_not_values(const GemmKnobs& knobs) {
  const int rows = static_cast<int>(kTileRows);
  if (knobs.weight_rows != rows && knobs.weight_rows != 2 * rows) {
    return "the M side of a block-scaled FP4 MMA is 128, or 256 in a pair of blocks: take rows = "
           "128 or 256";
  }
  if (knobs.tokens % 8 != 0) return fmt::format("tokens = {} is not a multiple of 8", knobs.tokens);
  if (knobs.loads == Loads::kMulticast && knobs.weight_rows != rows) {
    return "two blocks with the same 128 rows of weights share them: with loads = multicast take "
           "rows = 128";
  }
  if (token_sharers(knobs.mma, knobs.weight_rows, knobs.loads) > 1 && knobs.tokens % 16 != 0) {
    return fmt::format("a pair of blocks shares the tokens: tokens = {} is not a multiple of 16",
                       knobs.tokens);
  }
  return first_of({why_not_between("tokens", knobs.tokens, 8, 256),
                   why_not_between("stages", knobs.stages, 2, 16),
                   why_not_between("split_k", knobs.split_k, 1, 64),
                   why_not_between("blocks", knobs.blocks_per_sm, 1, 2)});
}

std::string why_not_activations(Activations activations) {
  if (activations == Activations::kNvfp4) return {};
  return fmt::format("it multiplies NVFP4 by NVFP4 alone: take gpu_sm80 for {} activations",
                     to_string(activations));
}

std::string why_not_columns(const GemmConfig& config) {
  const u32 used = tensor_columns(config).used;
  const u32 available = tensor_columns_max(config);
  if (used <= available) return {};
  return fmt::format(
      "sums and scales would take {} columns of tensor memory and a block has {}: take fewer "
      "tokens, stages or blocks",
      used, available);
}

}  // namespace

std::string why_not(const GemmKnobs& knobs, const PlanRequest& request) {
  std::string reason = first_of({why_not_activations(request.problem.activations),
                                 why_not_others(knobs), why_not_values(knobs)});
  if (!reason.empty()) return reason;
  for (const Product product : products_of(knobs, request.problem.op)) {
    const GemmConfig config = config_of(knobs, request.problem, product);
    reason = first_of({why_not_schedule(config), why_not_columns(config),
                       why_not_shared(knobs.kind, config, request.limits),
                       why_not_size(config, request)});
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace thresher::gpu::sm100
