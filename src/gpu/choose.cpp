// SPDX-License-Identifier: Apache-2.0
// The rule, in words. Tiles are as wide as the groups have tokens, up to 128: what a tile is wider
// is multiplied for nothing, and what it is narrower decodes the weights again. They are 256 rows
// high, so that an image serves as many rows as possible, unless that makes too few of them to fill
// the device. Wide tiles are taken whole and in turn where the last round of them is nearly full,
// and in balanced stretches of all work elsewhere, since parts of tiles have to be added up. Narrow
// tiles have small parts: for them stretches pay as soon as k is long.
#include "gpu/choose.hpp"

#include <algorithm>

#include "gpu/kernels/plan_extents.hpp"

namespace thresher::gpu {
namespace {

constexpr int kWideTokens = 128;
constexpr std::int64_t kLongK = 4096;

// Groups that have tokens. Without their counts, as if all had the same.
std::int64_t busy_count(const Problem& problem) {
  const std::int64_t busy = std::count_if(problem.groups.begin(), problem.groups.end(),
                                          [](const Group& group) { return group.m > 0; });
  return busy > 0 ? busy : static_cast<std::int64_t>(problem.groups.size());
}

int tokens_for(std::int64_t mean) {
  if (mean > kWideTokens / 2) return kWideTokens;
  return static_cast<int>(std::clamp<std::int64_t>(divide_up(mean, 16) * 16, 16, 64));
}

std::int64_t longest_k(const Problem& problem) {
  std::int64_t longest = 0;
  for (const Group& group : problem.groups) longest = std::max(longest, group.k);
  return longest;
}

std::int64_t tile_count(const Problem& problem, std::int64_t mean, int tokens, int weight_rows) {
  const int columns = problem.op == Op::kDual ? weight_rows / 2 : weight_rows;
  const bool counted = token_count(problem) > 0;
  std::int64_t count = 0;
  for (const Group& group : problem.groups) {
    count += divide_up(counted ? group.m : mean, tokens) * divide_up(group.n, columns);
  }
  return count;
}

}  // namespace

Variant choose(const Problem& problem, std::int64_t token_limit, const DeviceLimits& limits) {
  const std::int64_t mean =
      problem.groups.empty() ? 0 : divide_up(token_limit, busy_count(problem));
  const std::int64_t sms = limits.sm_count;
  Variant variant;
  GemmKnobs& knobs = variant.knobs;
  knobs.tokens = tokens_for(mean);
  const bool wide = knobs.tokens == kWideTokens;
  const bool high = tile_count(problem, mean, knobs.tokens, 256) >= sms * 7 / 8;
  knobs.weight_rows = high ? 256 : 128;
  knobs.fragment_steps = wide && high ? 2 : 4;
  knobs.store = wide ? Store::kStaged : Store::kDirect;
  knobs.stages = wide ? (high ? 6 : 7) : 8;

  const std::int64_t tiles = tile_count(problem, mean, knobs.tokens, knobs.weight_rows);
  const std::int64_t places = divide_up(tiles, sms) * sms;
  const bool uneven = tiles * 8 < places * 7;
  if (wide ? uneven : longest_k(problem) >= kLongK) knobs.schedule = Schedule::kBalanced;

  // What does not fit (floats take more room to be staged) or cannot be counted falls back on the
  // default, which a problem may be too large for as well.
  const PlanRequest request{problem, token_limit, limits};
  return why_not(knobs, request).empty() ? variant : Variant{};
}

}  // namespace thresher::gpu
