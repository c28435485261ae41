// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/gemm_support.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/gemm/plan_extents.hpp"

namespace thresher::gpu {

std::string why_not_one_of(const char* name, int value, std::initializer_list<int> allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return {};
  return fmt::format("{} = {} is not one of {}", name, value, fmt::join(allowed, ", "));
}

std::string why_not_between(const char* name, int value, int min, int max) {
  if (value >= min && value <= max) return {};
  return fmt::format("{} = {} is not between {} and {}", name, value, min, max);
}

std::string first_of(std::initializer_list<std::string> reasons) {
  for (const std::string& reason : reasons) {
    if (!reason.empty()) return reason;
  }
  return {};
}

std::string why_not_loads(const GemmKnobs& knobs) {
  if (knobs.loads == Loads::kCopies) return {};
  return "weights are multicast, or come as boxes, on Blackwell alone: take loads = copies";
}

namespace {

// 192 rows are a tile of weights and the half of another, which is one warpgroup's.
std::string why_not_half_tile(const GemmConfig& config) {
  if (!has_half_tile(config)) return {};
  const int strips = config.weight_rows / kSubTileRows;
  if (config.consumer_warpgroups != strips) {
    return fmt::format("rows = {} need a warpgroup for every 64 of them: take warpgroups = {}",
                       config.weight_rows, strips);
  }
  // Some of those that load by a consumer spill, and not only the widest.
  if (!config.specialised) {
    return fmt::format("rows = {} leave a consumer no registers to load by: take roles = split",
                       config.weight_rows);
  }
  if (!is_pass(config.product)) return {};
  return fmt::format(
      "a pass over dual weights takes their rows by 128: rows = {} are no multiple of that",
      config.weight_rows);
}

}  // namespace

std::string why_not_rows(const GemmConfig& config) {
  if (std::string reason = why_not_half_tile(config); !reason.empty()) return reason;
  if (config.weight_rows / kSubTileRows % config.consumer_warpgroups != 0) {
    return fmt::format(
        "a warpgroup has 64 rows or a multiple of them: rows = {} cannot be shared by "
        "warpgroups = {}",
        config.weight_rows, config.consumer_warpgroups);
  }
  if (strips_per_warpgroup(config) > 0) return {};
  return fmt::format(
      "a pass over dual weights multiplies half of their rows: rows = {} are too few for "
      "warpgroups = {}",
      config.weight_rows, config.consumer_warpgroups);
}

std::string why_not_shared(GemmKind kind, const GemmConfig& config, const SmLimits& limits) {
  constexpr std::int64_t kReservedPerBlock = 1024;  // by the system
  const std::int64_t bytes = shared_bytes_of(kind, config);
  if (bytes > limits.shared_bytes_per_block) {
    return fmt::format("a block would need {} bytes of shared memory and may have {}", bytes,
                       limits.shared_bytes_per_block);
  }
  const std::int64_t all = (bytes + kReservedPerBlock) * config.blocks_per_sm;
  if (all <= limits.shared_bytes_per_sm) return {};
  return fmt::format("{} blocks would need {} bytes of shared memory and an SM has {}",
                     config.blocks_per_sm, all, limits.shared_bytes_per_sm);
}

std::string why_not_schedule(const GemmConfig& config) {
  if (config.schedule == Schedule::kTiles || config.split_k == 1) return {};
  return fmt::format("a balanced schedule cuts k by itself: split_k = {} must be 1",
                     config.split_k);
}

std::string why_not_size(const GemmConfig& config, const PlanRequest& request) {
  const Extents extents(request, token_cut(config));
  if (request.token_limit < 0 || request.token_limit >= kCountMax) {
    return fmt::format("{} tokens are not between 0 and 2^31", request.token_limit);
  }
  if (extents.tiles(config) >= kCountMax) {
    return fmt::format("up to {} tiles are more than 2^31", extents.tiles(config));
  }
  if (config.schedule == Schedule::kBalanced && extents.cost(config) >= kCountMax) {
    return fmt::format("up to {} pieces of work are more than 2^31: take schedule = tiles",
                       extents.cost(config));
  }
  if (extents.image_tasks() >= kCountMax) {
    return fmt::format("up to {} pieces of activations are more than 2^31", extents.image_tasks());
  }
  return {};
}

}  // namespace thresher::gpu
