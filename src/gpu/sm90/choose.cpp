// SPDX-License-Identifier: Apache-2.0
// The rule, in words: of all tile shapes, and of both schedules, take the one that should be done
// first by the model of time (model.hpp).
#include "gpu/sm90/choose.hpp"

#include <algorithm>
#include <vector>

#include "gpu/sm90/model.hpp"

namespace thresher::gpu::sm90 {
namespace {

constexpr int kTokenChoices[] = {8, 16, 32, 48, 64, 80, 96, 104, 112, 128};
constexpr int kRowChoices[] = {128, 192, 256};
constexpr int kTokensOf192Rows = 64;  // and more: with fewer, nobody has timed them

constexpr double kWorthParts = 0.98;
constexpr int kPartsTokens = 32;  // of other widths the compiler cannot keep all parts' sums

// The groups with their tokens; where nobody knows these, as if all groups had the same.
std::vector<Group> with_tokens(const Problem& problem, std::int64_t token_limit) {
  std::vector<Group> groups = problem.groups;
  if (token_count(problem) > 0 || groups.empty()) return groups;
  for (Group& group : groups) {
    group.m = divide_up(token_limit, static_cast<std::int64_t>(groups.size()));
  }
  return groups;
}

// A tile shape with what suits it.
GemmKnobs knobs_for(int tokens, int rows) {
  const bool wide = tokens >= 64;
  GemmKnobs knobs;
  knobs.tokens = tokens;
  knobs.weight_rows = rows;
  knobs.consumer_warpgroups = rows == 192 ? 3 : 2;
  // What registers allow, and in between what was faster.
  const bool few_steps = rows == 192 || (rows == 256 && (tokens >= 64 || tokens <= 16));
  knobs.fragment_steps = few_steps ? 2 : 4;
  knobs.store = wide ? Store::kVectors : Store::kDirect;
  knobs.stages = tokens > 64 ? (rows > 128 ? 6 : 7) : 8;
  // A prologue of its own pays where the GEMM's blocks fit beside it and have little else to do.
  knobs.prologue = tokens == 16 ? Prologue::kKernel : Prologue::kInside;
  return knobs;
}

std::vector<GemmKnobs> shapes() {
  std::vector<GemmKnobs> all;
  for (const int tokens : kTokenChoices) {
    for (const int rows : kRowChoices) {
      if (rows == 192 && tokens < kTokensOf192Rows) continue;
      all.push_back(knobs_for(tokens, rows));
    }
  }
  return all;
}

bool may_have_parts(const GemmKnobs& knobs) { return knobs.tokens % kPartsTokens == 0; }

}  // namespace

std::vector<Variant> choices() {
  std::vector<Variant> all;
  for (GemmKnobs knobs : shapes()) {
    all.push_back({.knobs = knobs});
    knobs.schedule = Schedule::kBalanced;
    if (may_have_parts(knobs)) all.push_back({.knobs = knobs});
  }
  return all;
}

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

Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits) {
  const ChoiceRule rule{hopper_times(), may_have_parts, why_not};
  return {.knobs = soonest(shapes(), {}, {problem, token_limit, limits}, rule)};
}

}  // namespace thresher::gpu::sm90
