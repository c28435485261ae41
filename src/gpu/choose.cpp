// SPDX-License-Identifier: Apache-2.0
// The rule, in words: a tile as wide as the groups have tokens, because what a tile is wider is
// multiplied for nothing and what it is narrower decodes the weights again; narrow tiles leave room
// for more stages, which is what reading at full speed takes.
#include "gpu/choose.hpp"

#include <algorithm>

namespace thresher::gpu {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Of the groups that have any. Without their counts, as if all had the same.
double mean_tokens(const Problem& problem, std::int64_t token_limit) {
  std::int64_t busy = 0;
  for (const Group& group : problem.groups) busy += group.m > 0 ? 1 : 0;
  if (busy == 0) busy = static_cast<std::int64_t>(problem.groups.size());
  return busy == 0 ? 0 : static_cast<double>(token_limit) / static_cast<double>(busy);
}

}  // namespace

Variant choose(const Problem& problem, std::int64_t token_limit, const DeviceLimits& limits) {
  constexpr int kWideTokens = 128;
  Variant variant;
  const double mean = mean_tokens(problem, token_limit);
  if (mean <= kWideTokens / 2) {
    variant.knobs.tokens = static_cast<int>(
        std::clamp<std::int64_t>(rounded_up(static_cast<std::int64_t>(mean), 16), 16, 64));
    variant.knobs.stages = 6;
  }
  // Some problem may be too large to count for the choice, and then for the default as well.
  const PlanRequest request{problem, token_limit, limits};
  return why_not(variant.knobs, request).empty() ? variant : Variant{};
}

}  // namespace thresher::gpu
