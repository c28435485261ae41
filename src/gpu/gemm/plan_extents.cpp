// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/plan_extents.hpp"

#include <algorithm>

#include "gpu/gemm/kernels/weight_layout.hpp"
#include "gpu/sm100/kernels/tensor_layout.hpp"

namespace thresher::gpu {

ActivationType activation_type(Activations activations) {
  if (activations == Activations::kFp16) return ActivationType::kFp16;
  return activations == Activations::kBf16 ? ActivationType::kBf16 : ActivationType::kNvfp4;
}

hw::Operand operand_of(Activations activations) { return operand_of(activation_type(activations)); }

namespace {

OutputType output_type(Output output) {
  if (output == Output::kBf16) return OutputType::kBf16;
  return output == Output::kFp32 ? OutputType::kFp32 : OutputType::kFp16;
}

}  // namespace

std::vector<Product> products_of(const GemmKnobs& knobs, Op op) {
  if (op == Op::kGemm) return {Product::kGemm};
  if (knobs.dual == Dual::kFused) return {Product::kDual};
  return {Product::kGatePass, Product::kUpPass};
}

GemmConfig config_of(const GemmKnobs& knobs, const Problem& problem, Product product) {
  return config_of(knobs, product, activation_type(problem.activations),
                   output_type(problem.output));
}

std::uint32_t shared_bytes_of(GemmKind kind, const GemmConfig& config) {
  if (config.mma == Mma::kBlockScaled) return sm100::tensor_shared(config).bytes;
  return kind == GemmKind::kPlain ? plain_shared_bytes(config) : shared_layout(config).bytes;
}

Extents::Extents(const PlanRequest& request, TokenCut cut) {
  const auto group_count = static_cast<std::int64_t>(request.problem.groups.size());
  const std::int64_t broken = std::min(group_count, request.token_limit);
  token_tiles = (request.token_limit + broken * (cut.tokens - 1)) / cut.tokens;
  columns = request.token_limit + broken * (cut.narrowest() - 1);
  for (const Group& group : request.problem.groups) {
    k_tiles_max = std::max(k_tiles_max, divide_up(group.k, kTileK));
    n_max = std::max(n_max, group.n);
  }
}

std::int64_t Extents::tiles(const GemmConfig& config) const {
  return token_tiles * divide_up(n_max, columns_per_tile(config)) * config.split_k;
}

std::int64_t Extents::cost(const GemmConfig& config) const {
  const u32 k_tile = k_tile_cost(config.weight_rows, static_cast<u32>(config.tokens));
  return tiles(config) * (k_tiles_max * k_tile + kFinishCost);
}

std::int64_t Extents::image_tasks() const {
  return divide_up(columns, kImageTaskTokens) * divide_up(k_tiles_max * kTileK, kImageTaskK);
}

}  // namespace thresher::gpu
