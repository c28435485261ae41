// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/choice_rule.hpp"

namespace thresher::gpu {
namespace {

constexpr double kWorthParts = 0.98;

// The groups with their tokens; where nobody knows these, as if all groups had the same.
std::vector<Group> with_tokens(const Problem& problem, std::int64_t token_limit) {
  std::vector<Group> groups = problem.groups;
  if (token_count(problem) > 0 || groups.empty()) return groups;
  for (Group& group : groups) {
    group.m = divide_up(token_limit, static_cast<std::int64_t>(groups.size()));
  }
  return groups;
}

}  // namespace

GemmKnobs soonest(const std::vector<GemmKnobs>& shapes, const GemmKnobs& otherwise,
                  const PlanRequest& request, const ChoiceRule& rule) {
  const std::vector<Group> groups = with_tokens(request.problem, request.token_limit);
  const auto span_ns = [&](const GemmKnobs& knobs) {
    const Product product = products_of(knobs, request.problem.op).front();
    const double prologue_ns = knobs.prologue == Prologue::kKernel ? rule.times.prologue : 0;
    return prologue_ns + Tiling(groups, knobs.kind, config_of(knobs, request.problem, product),
                                request.limits, rule.times)
                             .span_ns();
  };
  // What does not fit (floats take more room to be staged) or cannot be counted is passed over.
  GemmKnobs best = otherwise;
  double best_ns = -1;
  for (GemmKnobs knobs : shapes) {
    double ns = span_ns(knobs);
    if (rule.may_have_parts(knobs)) {
      GemmKnobs balanced = knobs;
      balanced.schedule = Schedule::kBalanced;
      const double balanced_ns = span_ns(balanced);
      if (balanced_ns < kWorthParts * ns) {
        knobs = balanced;
        ns = balanced_ns;
      }
    }
    if (best_ns >= 0 && ns >= best_ns) continue;
    if (!rule.why_not(knobs, request).empty()) continue;
    best = knobs;
    best_ns = ns;
  }
  return best;
}

}  // namespace thresher::gpu
